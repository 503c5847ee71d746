// Reads what the reader of a certificate expects: from options of `certify verify`, or from the index of a registry.
import { readFileSync } from "node:fs";
import type { parseArgs } from "node:util";
import { sha256 } from "../certificate/hashes.ts";
import { strictness, type Expectations } from "../certificate/expectations.ts";
import { sides } from "../results.ts";
import { didYouMean } from "./nearest.ts";
import { createReader, namesIn, when } from "./options.ts";

const text = { type: "string" } as const;

/** The options that state expectations, in the form that `parseArgs` of node:util expects. */
export const expectedOptions = {
  target: text,
  kind: text,
  profile: text,
  contract: text,
  suite: text,
  "max-age": text,
  challenge: text,
  require: { ...text, multiple: true },
} as const;

/** The names and values of expectations, as text. */
export type Expected = ReturnType<typeof parseArgs<{ options: typeof expectedOptions }>>["values"];

const kinds = ["service", ...sides] as const;
export const profiles = ["core", "extended", ...sides] as const;
const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const isSha256 = (value: string) => /^[0-9a-f]{64}$/.test(value);

/**
 * Reads expectations. Adds what is wrong with them to `faults`.
 * @param prefix what precedes a name in a fault, such as "--"
 */
export function readExpected(given: Expected, prefix: string, faults: string[]): Expectations {
  const { target, kind, profile, contract, suite, "max-age": maxAge, challenge, require } = given;
  const read = createReader(faults, prefix);
  const fault = (name: string, why: string) => void faults.push(`${prefix}${name} ${why}`);

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
  const names = require && namesIn(require);
  const known = Object.keys(strictness);
  for (const name of names ?? [])
    if (!known.includes(name))
      fault("require", `knows ${known.join(", ")}, not ${JSON.stringify(name)}.${didYouMean(name, known)}`);
  return {
    target,
    kind: when(kind, (value) => read.oneOf("kind", value, kinds)),
    profile: when(profile, (value) => read.oneOf("profile", value, profiles)),
    contract: when(contract, contractHash),
    suite,
    maxAge: when(maxAge, duration),
    challenge,
    require: names,
  };
}
