// The options of a run against a service, and those that runs against merchants' programs share with it.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { runIdOf, seedOf } from "../certificate/challenge.ts";
import { readPrivateKey } from "../certificate/keys.ts";
import { readDeclaration } from "../allowances/declaration.ts";
import { readBaseline } from "../report/baseline.ts";
import { readWatched } from "../report/watched.ts";
import { inRanges } from "../allowances/table.ts";
import { maskPhone } from "../target/redact.ts";
import { catalogue, sideCatalogues } from "../contract/requirements.ts";
import { CannotRun, isSide, type EffectsAllowed, type Profile, type Report, type Side } from "../results.ts";
import { readTls } from "../target/tls.ts";
import { headerVariable, quoted } from "../target/shell.ts";
import { defaultRecipients, type RunOptions } from "../run-options.ts";
import {
  didYouMean,
  names,
  oneOf,
  plainUrl,
  readFlags,
  refuse,
  repeatWords,
  whole,
  type Options,
  type Values,
} from "./flags.ts";

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

function target(value: string): string {
  const url = plainUrl(value);
  if (!/\/v1(\/(disbursements|checkouts))?$/.test(url)) return url;
  const without = url.replace(/\/v1(\/\w+)?$/, "");
  throw new CannotRun(`must not include /v1, with which every path of the interface starts: use ${without}`);
}

/** Returns a reader of a text that matches a pattern. */
const matching = (pattern: RegExp, problem: string) => (value: string) => {
  if (pattern.test(value)) return value;
  throw new CannotRun(problem);
};
const phone = matching(/^[0-9]{10,15}$/, "must be 10 to 15 digits without a plus sign (§2.1)");
const challenge = matching(/^[\x20-\x7e]{1,200}$/, "must be 1 to 200 printable ASCII characters");

function header(line: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*([\x20-\x7e]*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new CannotRun("must look like 'Name: value'");
  if (name.toLowerCase() === "x-api-key") throw new CannotRun("cannot set x-api-key: set the key in API_KEY");
  return [name, value];
}

/** Reads an address to listen on. */
export function listener(value: string) {
  const [, host, port] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(value) ?? [];
  if (host !== undefined && Number(port) <= 65535) return { host, port: Number(port) };
  throw new CannotRun(`must look like HOST:PORT, not ${JSON.stringify(value)}`);
}

/** Returns a reader of seconds, which returns milliseconds. */
export const seconds = (least: number) => (value: string) => whole(least, 86_400)(value) * 1000;
const amount = whole(0, Number.MAX_SAFE_INTEGER);
const text = (file: string) => readFileSync(file, "utf8");

/** Renders a published number as it is, and a number that may be a person's as a variable of the environment. */
const unlessPublished = (variable: string) => (value: string) =>
  Object.values(defaultRecipients).includes(value) ? quoted(value) : `"\${${variable}:?}"`;

/** The options of every kind of run that determine its seed. */
export const seedOptions = {
  seed: {
    value: "N",
    meaning: "reproduces the generated inputs of an earlier run",
    otherwise: "random",
    read: whole(0, 2 ** 31 - 1),
    repeat: false,
  },
  challenge: {
    value: "TEXT",
    meaning:
      "derives the seed from a text that a partner chose, which the certificate states; for a service, the references too",
    read: challenge,
    repeat: false,
  },
} as const satisfies Options;

/** The options of every kind of run for its report. */
export const reportOptions = {
  report: { value: "DIR", meaning: "directory for the report", initial: "./certify-report", repeat: false },
  baseline: {
    value: "FILE",
    meaning:
      "known failures to tolerate until they expire (YAML: id, reason, expires); `new` writes those of this run to ./conformance-baseline.yaml",
    read: (file: string) => (file === "new" ? file : readBaseline(text(file))),
    repeat: false,
  },
  sign: {
    value: "KEYFILE",
    meaning: "signs certificate.jws with this key if the run is certified (see `certify keygen`)",
    read: readPrivateKey,
    repeat: false,
  },
} as const satisfies Options;

/** Where the reports go, what is reported together with the run, and what signs a certificate. */
export type Reporting = { report: string; watched?: Report | undefined } & Partial<Values<typeof reportOptions>>;

/** The options of a run against a service, in groups as --help shows them. */
export const serviceGroups = {
  Target: {
    "base-url": {
      value: "URL",
      meaning: "the target, including any path before `/v1`, but without `/v1`",
      required: "give the URL of the target",
      read: target,
      repeat: false,
    },
    "api-key-file": {
      value: "FILE",
      meaning: "file with the API key, instead of `API_KEY`",
      read: (file: string) => text(file).trim(),
    },
    header: {
      value: "'Name: value'",
      meaning: "header to send with every request; may be repeated",
      many: true,
      read: header,
      repeat: (line: string) => {
        const name = line.slice(0, line.indexOf(":"));
        return `"${name}: \${${headerVariable(name)}:?}"`;
      },
    },
    ca: {
      value: "FILE",
      meaning:
        "certificates to trust in addition to the usual ones (PEM), for a private CA or a self-signed certificate",
    },
    cert: {
      value: "FILE",
      meaning: "client certificate for a target that requires one (mTLS, PEM). It is shown to the target only",
    },
    key: { value: "FILE", meaning: "private key of that certificate, not encrypted (PEM)" },
    timeout: { value: "MS", meaning: "time limit for a response", initial: "10000", read: whole(1, 3_600_000) },
    "settle-timeout": {
      value: "SECONDS",
      meaning: "how long to wait for a payout to settle. A payout that is still pending then is not judged further",
      otherwise: "90; 10 if the sandbox's clock moves",
      read: seconds(1),
    },
    linger: {
      value: "SECONDS",
      meaning: "least age of the first payouts when every record and reference is checked for the last time",
      initial: "16",
      read: whole(0, 86_400),
    },
    rate: {
      value: "PER_SECOND",
      meaning: "maximum requests per second. The suite waits after a 429 in any case",
      otherwise: "no limit",
      read: whole(1, 100_000),
    },
  },
  "What to judge": {
    profile: {
      value: "core|extended",
      meaning:
        "`core`: what the interface document states. `extended`: also this project's decisions where the document is silent",
      initial: "core",
      read: oneOf<Profile>("core", "extended"),
      repeat: false,
    },
    only: {
      value: "ID,…",
      meaning: "judge only these requirements",
      otherwise: "all",
      many: true,
      read: names,
      repeat: false,
    },
    payout: {
      value: "REFERENCE",
      meaning:
        "the service's reference of a payout that your key made before: its record is judged by reading it, also with `--effects none`",
      read: matching(/^[\x20-\x7e]{1,200}$/, "must be the reference that the service gave the payout, such as DSB…"),
    },
    declare: {
      value: "FILE",
      meaning: "limits of the target that the interface leaves open (YAML; certify init writes such a file)",
      read: (file: string) => readDeclaration(text(file)),
    },
    interactive: {
      meaning: "asks a person on the terminal to pay, fail or cancel checkouts that the suite cannot finish itself",
    },
    watched: {
      value: "FILE",
      meaning:
        "report.json of `certify watch`: what traffic contradicted has failed, and the report says what traffic agreed with",
      read: readWatched,
      repeat: false,
    },
    ...seedOptions,
    "through-prism": {
      meaning:
        "lets Prism (`npm install @stoplight/prism-cli`) validate every response too, and shows where it disagrees",
      repeat: false,
    },
  },
  Money: {
    effects: {
      value: "none|reject|money",
      meaning: "what the run may do to money",
      otherwise: "`money` for a sandbox on loopback, otherwise `none`",
      read: oneOf<EffectsAllowed>("none", "reject", "money"),
      repeat: false,
    },
    recipient: {
      value: "PHONE",
      meaning: "phone number that receives the payouts; its calling code decides their country and currency",
      otherwise: `\`${defaultRecipients.recipient}\`; made-up numbers for a sandbox or loopback`,
      read: phone,
      repeat: unlessPublished("RECIPIENT"),
    },
    "failing-recipient": {
      value: "PHONE",
      meaning: "phone number whose payouts fail",
      otherwise: `a made-up number like \`${defaultRecipients.failingRecipient}\` for a sandbox, otherwise none`,
      read: phone,
      repeat: unlessPublished("FAILING_RECIPIENT"),
    },
    "max-payouts": { value: "N", meaning: "maximum number of payouts", initial: "500", read: amount },
    "max-total": {
      value: "AMOUNT",
      meaning: "maximum sum of payouts, in the lowest denomination",
      otherwise: "50000000; no limit for a sandbox on loopback",
      read: amount,
    },
    yes: { meaning: "confirms payouts on a target that is not on loopback" },
  },
  Webhooks: {
    "webhook-listen": {
      value: "HOST:PORT",
      meaning: "address on which to receive webhooks",
      otherwise: "`127.0.0.1:0` for a loopback target, otherwise no receiver",
      read: listener,
    },
    "webhook-url": {
      value: "URL",
      meaning: "URL under which the target reaches that address",
      otherwise: "the address itself",
      read: plainUrl,
    },
  },
  Report: reportOptions,
} as const satisfies Record<string, Options>;

export const serviceOptions = {
  ...serviceGroups.Target,
  ...serviceGroups["What to judge"],
  ...serviceGroups.Money,
  ...serviceGroups.Webhooks,
  ...serviceGroups.Report,
};

type ServiceValues = Values<typeof serviceOptions>;

/** Returns the seed of a run. Without `--seed` and `--challenge`, the run has a new seed. */
export function seedIn(
  { seed, challenge: chosen }: Values<typeof seedOptions>,
  newSeed: () => number,
  faults: string[],
): { seed: number; challenge?: string } {
  if (chosen === undefined) return { seed: seed ?? newSeed() };
  if (seed !== undefined) faults.push("--challenge and --seed exclude each other: the challenge determines the seed");
  return { seed: seedOf(chosen), challenge: chosen };
}

/** Returns the ids in `--only`, which must be requirements of the profile; undefined if the option was not given. */
export function onlyIn(given: readonly string[][] | undefined, profile: Profile | Side, faults: string[]) {
  if (given === undefined) return undefined;
  const known = isSide(profile) ? sideCatalogues[profile] : catalogue;
  const allIds = known.map(({ id }) => id);
  const only = given.flat();
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

/** Finds recipients outside the declared number ranges. Checks pay to the recipients, so they must be inside. */
function outsideRanges(values: ServiceValues): string[] {
  const { declare, recipient = defaultRecipients.recipient, "failing-recipient": failing } = values;
  const ranges = declare?.numberRanges;
  if (!ranges) return [];
  return Object.entries({ recipient, "failing-recipient": failing }).flatMap(([flag, number]) =>
    number === undefined || inRanges(ranges, number)
      ? []
      : [`--${flag} ${maskPhone(number)} is outside numberRanges in --declare: give a number inside them`],
  );
}

/** Returns a key or a secret of the environment; undefined if it is not set. */
function secretIn(name: string, value: string | undefined, faults: string[]): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (!/^[\x21-\x7e]+$/.test(value)) faults.push(`${name} must be printable ASCII without spaces`);
  return value;
}

/** Returns the options, as shell words, with which curl uses the same certificates. */
function curlFlags({ ca, cert, key }: Pick<ServiceValues, "ca" | "cert" | "key">): string[] {
  // Escape colons, because after a colon curl expects the password of the certificate.
  const files = { "--cacert": ca, "--cert": cert?.replaceAll(":", String.raw`\:`), "--key": key };
  return Object.entries(files).flatMap(([flag, file]) => (file === undefined ? [] : [flag, quoted(file)]));
}

/**
 * Reads the options of a run from a command line and the environment.
 * @param newSeed returns the seed to use if `--seed` was not given
 * @throws OptionsError with every fault found
 */
export const readOptions = (args: readonly string[], env: NodeJS.ProcessEnv, newSeed: () => number): CertifyOptions =>
  optionsOf(readFlags(args, serviceOptions), env, newSeed);

/** Returns the options of a run from the values of `serviceOptions`, as `readOptions` does. */
export function optionsOf(
  { values, given, faults }: Pick<ReturnType<typeof readFlags<typeof serviceOptions>>, "values" | "given" | "faults">,
  env: NodeJS.ProcessEnv,
  newSeed: () => number,
): CertifyOptions {
  const options: CertifyOptions = {
    baseUrl: values["base-url"],
    profile: values.profile,
    effects: values.effects,
    reporting: values,
    payout: values.payout,
    only: onlyIn(values.only, values.profile, faults),
    webhookUrl: values["webhook-url"],
    webhookListen: values["webhook-listen"],
    declared: values.declare,
    recipient: values.recipient ?? defaultRecipients.recipient,
    assumed: values.recipient === undefined ? ["recipient"] : [],
    failingRecipient: values["failing-recipient"],
    maxPayouts: values["max-payouts"],
    maxTotal: values["max-total"],
    timeoutMs: values.timeout,
    settleTimeoutMs: values["settle-timeout"],
    linger: values.linger,
    rate: values.rate,
    headers: Object.fromEntries(values.header?.filter(Boolean) ?? []),
    tls: readTls({ ca: values.ca, cert: values.cert, key: values.key }, new Date(), faults),
    interactive: values.interactive,
    yes: values.yes,
    throughPrism: values["through-prism"],
    repeatFlags: repeatWords(serviceOptions, given),
    curlFlags: curlFlags(values),
    ...seedIn(values, newSeed, faults),
    runId: values.challenge === undefined ? randomBytes(5).toString("hex") : runIdOf(values.challenge),
    key: secretIn("the API key", values["api-key-file"] ?? env["API_KEY"], faults) ?? "",
    secondKey: secretIn("API_KEY_2", env["API_KEY_2"], faults),
    webhookSecret: secretIn("WEBHOOK_SECRET", env["WEBHOOK_SECRET"], faults),
  };
  faults.push(...outsideRanges(values));
  if (options.key === "") faults.push("no API key: set API_KEY, or name a file with --api-key-file");
  if (options.secondKey !== undefined && options.secondKey === options.key) {
    faults.push("API_KEY_2 is the same key as API_KEY: set a second merchant's key, or leave it unset");
  }
  if (options.webhookUrl !== undefined && options.webhookListen === undefined) {
    faults.push("--webhook-url needs --webhook-listen, the address on which the suite receives the webhooks");
  }
  refuse(faults);
  return options;
}
