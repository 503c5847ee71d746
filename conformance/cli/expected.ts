// Reads what the reader of a certificate expects: from options of `certify verify`, or from the index of a registry.
import { readFileSync } from "node:fs";
import { sha256 } from "../certificate/hashes.ts";
import { strictness, type Expectations } from "../certificate/expectations.ts";
import { sides } from "../results.ts";
import { didYouMean } from "./nearest.ts";

/** The names and values of expectations, as text. */
export type Expected = {
  target?: string;
  kind?: string;
  profile?: string;
  contract?: string;
  suite?: string;
  "max-age"?: string;
  challenge?: string;
  require?: string[];
};

const kinds = ["service", ...sides] as const;
const profiles = ["core", "extended", ...sides] as const;
const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const isSha256 = (text: string) => /^[0-9a-f]{64}$/.test(text);

/**
 * Reads expectations. Adds what is wrong with them to `faults`.
 * @param prefix what precedes a name in a fault, such as "--"
 */
export function readExpected(given: Expected, prefix: string, faults: string[]): Expectations {
  const { target, kind, profile, contract, suite, "max-age": maxAge, challenge, require } = given;
  const fault = (name: string, text: string) => void faults.push(`${prefix}${name} ${text}`);

  function oneOf<T extends string>(name: string, value: string | undefined, allowed: readonly T[]): T | undefined {
    const found = allowed.find((each) => each === value);
    if (value !== undefined && found === undefined)
      fault(name, `must be ${allowed.join(" or ")}, not ${JSON.stringify(value)}`);
    return found;
  }
  function duration(value: string): number {
    const [, count, unit = "d"] = /^(\d+)([mhd])?$/.exec(value) ?? [];
    if (count === undefined) fault("max-age", `must look like 30d, 12h or 90m, not ${JSON.stringify(value)}`);
    return Number(count) * units[unit as keyof typeof units];
  }
  function contractHash(value: string): string {
    if (isSha256(value)) return value;
    try {
      return sha256(readFileSync(value));
    } catch (error) {
      fault("contract", `must be a SHA-256 hash or a file: ${(error as Error).message}`);
      return value;
    }
  }
  const names = require?.flatMap((each) => each.split(",")).map((each) => each.trim());
  for (const name of names ?? []) {
    if (Object.hasOwn(strictness, name)) continue;
    const known = Object.keys(strictness);
    fault("require", `knows ${known.join(", ")}, not ${JSON.stringify(name)}.${didYouMean(name, known)}`);
  }
  return {
    target,
    kind: oneOf("kind", kind, kinds),
    profile: oneOf("profile", profile, profiles),
    contract: contract === undefined ? undefined : contractHash(contract),
    suite,
    maxAge: maxAge === undefined ? undefined : duration(maxAge),
    challenge,
    require: names,
  };
}
