// Reads the command line and the environment, and reports all faults together.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { runIdOf, seedOf } from "../certificate/challenge.ts";
import { DeclarationError, readDeclaration } from "../allowances/declaration.ts";
import { inRanges } from "../allowances/table.ts";
import { maskPhone } from "../target/redact.ts";
import { argumentFault } from "./command.ts";
import { flags, type Values } from "./flags.ts";
import { didYouMean } from "./nearest.ts";
import { curlFlags, repeatFlags } from "./repeat-flags.ts";
import { isSystemError, readReporting } from "./reporting.ts";
import type { Reporting } from "./reporting.ts";
import { catalogue, sideCatalogues } from "../contract/requirements.ts";
import { isSide, type EffectsAllowed, type Profile, type Side } from "../results.ts";
import { readTls } from "../target/tls.ts";
import { defaultRecipients, type RunOptions } from "../run-options.ts";

/** The caller's options. If `effects` or `maxTotal` is undefined, the probe decides it. */
export type CertifyOptions = Omit<
  RunOptions,
  "effects" | "loopback" | "maxTotal" | "prismUrl" | "environment" | "controls" | "settleTimeoutMs"
> & {
  /** How long to wait for a payout's final status. If undefined, the probe decides. */
  settleTimeoutMs?: number;
  effects?: EffectsAllowed;
  maxTotal?: number;
  reporting: Reporting;
  yes: boolean;
  throughPrism: boolean;
};

/** Invalid options or environment variables, one line each. */
export class OptionsError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

export const when = <T>(value: string | undefined, read: (value: string) => T) =>
  value === undefined ? undefined : read(value);

/**
 * Returns functions that each read one value. They add what is wrong with a value to `faults`.
 * @param prefix what precedes the name of a value in `oneOf`
 */
export function createReader(faults: string[], prefix = "--") {
  return {
    fault: (text: string) => void faults.push(text),
    oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
      const found = allowed.find((one) => one === value);
      if (found === undefined)
        faults.push(`${prefix}${flag} must be ${allowed.join(" or ")}, not ${JSON.stringify(value)}`);
      return found ?? (allowed[0] as T);
    },
    whole(flag: string, value: string, least: number, most: number): number {
      const number = Number(value);
      if (/^\d+$/.test(value) && number >= least && number <= most) return number;
      faults.push(`--${flag} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}`);
      return least;
    },
    phone(flag: string, value: string): string {
      if (!/^[0-9]{10,15}$/.test(value)) {
        faults.push(`--${flag} must be 10 to 15 digits without a plus sign (§2.1)`);
      }
      return value;
    },
    target(flag: string, value: string): string {
      const url = this.url(flag, value);
      if (/\/v1(\/(disbursements|checkouts))?$/.test(url)) {
        const without = url.replace(/\/v1(\/\w+)?$/, "");
        faults.push(`--${flag} must not include /v1, with which every path of the interface starts: use ${without}`);
      }
      return url;
    },
    url(flag: string, value: string): string {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      const fits = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
      if (!fits) {
        faults.push(`--${flag} must be an http or https URL without user, query or fragment`);
      }
      return value.replace(/\/+$/, "");
    },
    key(name: string, value: string | undefined): string | undefined {
      if (value === undefined || value === "") return undefined;
      if (!/^[\x21-\x7e]+$/.test(value)) faults.push(`${name} must be printable ASCII without spaces`);
      return value;
    },
  };
}

/** Reads `--seed` and `--challenge`, from which a seed can be derived. Without both options, the run has a new seed. */
export function readSeed(
  { seed, challenge }: { seed?: string; challenge?: string },
  read: ReturnType<typeof createReader>,
  newSeed: () => number,
): { seed: number; challenge?: string } {
  if (challenge !== undefined) {
    if (seed !== undefined) read.fault("--challenge and --seed exclude each other: the challenge determines the seed");
    if (!/^[\x20-\x7e]{1,200}$/.test(challenge)) read.fault("--challenge must be 1 to 200 printable ASCII characters");
    return { seed: seedOf(challenge), challenge };
  }
  return { seed: when(seed, (value) => read.whole("seed", value, 0, 2 ** 31 - 1)) ?? newSeed() };
}

function readHeaders(lines: readonly string[], faults: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) faults.push("--header must look like 'Name: value'");
    else if (name.toLowerCase() === "x-api-key") faults.push("--header cannot set x-api-key: set the key in API_KEY");
    else headers[name] = value;
  }
  return headers;
}

function readListen(value: string | undefined, faults: string[]) {
  if (value === undefined) return undefined;
  const [, host, port] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(value) ?? [];
  if (host === undefined || Number(port) > 65535) {
    faults.push(`--webhook-listen must look like HOST:PORT, not ${JSON.stringify(value)}`);
    return undefined;
  }
  return { host, port: Number(port) };
}

/** Returns the names in values such as "a,b". */
export const namesIn = (values: readonly string[]) =>
  values.flatMap((value) => value.split(",")).map((name) => name.trim());

/** Reads the ids in `--only`, which must be requirements of the profile; undefined if the option was not given. */
export function readOnly(values: readonly string[] | undefined, profile: Profile | Side, faults: string[]) {
  if (values === undefined) return undefined;
  const known = isSide(profile) ? sideCatalogues[profile] : catalogue;
  const allIds = known.map(({ id }) => id);
  const only = namesIn(values).filter((id) => id !== "");
  if (only.length === 0) faults.push("--only is empty: name at least one requirement");
  for (const id of only) {
    const found = known.find((requirement) => requirement.id === id);
    if (!found) faults.push(`--only: there is no requirement ${JSON.stringify(id)}.${didYouMean(id, allIds)}`);
    else if (profile === "core" && found.profile === "extended") {
      faults.push(`--only: ${id} is not part of profile core; add --profile extended`);
    }
  }
  return only;
}

/** Reads certify.yaml. The recipients must be inside the declared number ranges, because checks pay to them. */
function readDeclare(file: string, recipients: Record<string, string | undefined>, faults: string[]) {
  try {
    const declared = readDeclaration(readFileSync(file, "utf8"));
    for (const [flag, phone] of Object.entries(recipients)) {
      if (phone === undefined || !declared.numberRanges || inRanges(declared.numberRanges, phone)) continue;
      faults.push(`--${flag} ${maskPhone(phone)} is outside numberRanges in ${file}: give a number inside them`);
    }
    return declared;
  } catch (error) {
    if (!(error instanceof DeclarationError || isSystemError(error))) throw error;
    const problems = error instanceof DeclarationError ? error.problems : [error.message];
    faults.push(...problems.map((problem) => `--declare: ${file}: ${problem}`));
    return undefined;
  }
}

function readKey(values: Values, env: NodeJS.ProcessEnv, faults: string[]): string {
  const file = values["api-key-file"];
  try {
    const key = file === undefined ? env["API_KEY"] : readFileSync(file, "utf8").trim();
    if (key) return createReader(faults).key(file === undefined ? "API_KEY" : "the key in --api-key-file", key) ?? "";
    faults.push("no API key: set API_KEY, or name a file with --api-key-file");
  } catch {
    faults.push(`--api-key-file: cannot read ${file}`);
  }
  return "";
}

/**
 * Parses a command line.
 * @throws OptionsError
 */
export function parseFlags<T extends NonNullable<ParseArgsConfig["options"]>>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false, strict: true }).values;
  } catch (error) {
    throw new OptionsError([argumentFault(error, Object.keys(options))]);
  }
}

/** Reads the options of a run as `readValues` does. */
export const readOptions = (args: readonly string[], env: NodeJS.ProcessEnv, newSeed: () => number): CertifyOptions =>
  readValues(parseFlags(args, flags), env, newSeed);

/**
 * Reads the options of a run from the values on the command line and the environment.
 * @param newSeed returns the seed to use if `--seed` was not given
 * @throws OptionsError with every fault found
 */
export function readValues(values: Values, env: NodeJS.ProcessEnv, newSeed: () => number): CertifyOptions {
  const faults: string[] = [];
  const read = createReader(faults);
  if (values["base-url"] === undefined) faults.push("--base-url is missing: give the URL of the target");
  const profile = read.oneOf("profile", values.profile, ["core", "extended"]);
  const most = Number.MAX_SAFE_INTEGER;
  const options: CertifyOptions = {
    baseUrl: read.target("base-url", values["base-url"] ?? "http://missing"),
    profile,
    effects: when(values.effects, (value) => read.oneOf("effects", value, ["none", "reject", "money"])),
    reporting: readReporting(
      {
        folder: values.report,
        baselineFile: values.baseline,
        keyFile: values.sign,
        validDays: read.whole("valid-days", values["valid-days"], 1, 3650),
        ids: catalogue.map(({ id }) => id),
      },
      faults,
    ),
    only: readOnly(values.only, profile, faults),
    webhookUrl: when(values["webhook-url"], (value) => read.url("webhook-url", value)),
    webhookListen: readListen(values["webhook-listen"], faults),
    declared: when(values.declare, (file) => {
      const { recipient = defaultRecipients.recipient, "failing-recipient": failing } = values;
      return readDeclare(file, { recipient, "failing-recipient": failing }, faults);
    }),
    recipient: read.phone("recipient", values.recipient ?? defaultRecipients.recipient),
    assumed: values.recipient === undefined ? ["recipient"] : [],
    failingRecipient: when(values["failing-recipient"], (value) => read.phone("failing-recipient", value)),
    maxPayouts: read.whole("max-payouts", values["max-payouts"], 0, most),
    maxTotal: when(values["max-total"], (value) => read.whole("max-total", value, 0, most)),
    timeoutMs: read.whole("timeout", values.timeout, 1, 3_600_000),
    settleTimeoutMs: when(values["settle-timeout"], (value) => read.whole("settle-timeout", value, 1, 86_400) * 1000),
    linger: read.whole("linger", values.linger, 0, 86_400),
    rate: when(values.rate, (value) => read.whole("rate", value, 1, 100_000)),
    headers: readHeaders(values.header, faults),
    tls: readTls({ ca: values.ca, cert: values.cert, key: values.key }, new Date(), faults),
    ...(values.interactive ? { interactive: true } : {}),
    yes: values.yes,
    throughPrism: values["through-prism"],
    repeatFlags: repeatFlags(values),
    curlFlags: curlFlags(values),
    ...readSeed(values, read, newSeed),
    runId: values.challenge === undefined ? randomBytes(5).toString("hex") : runIdOf(values.challenge),
    key: readKey(values, env, faults),
    secondKey: read.key("API_KEY_2", env["API_KEY_2"]),
    webhookSecret: read.key("WEBHOOK_SECRET", env["WEBHOOK_SECRET"]),
  };
  if (options.secondKey !== undefined && options.secondKey === options.key) {
    faults.push("API_KEY_2 is the same key as API_KEY: set a second merchant's key, or leave it unset");
  }
  if (options.webhookUrl !== undefined && options.webhookListen === undefined) {
    faults.push("--webhook-url needs --webhook-listen, the address on which the suite receives the webhooks");
  }
  if (faults.length > 0) throw new OptionsError(faults);
  return options;
}
