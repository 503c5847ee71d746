// Implements `certify receiver`, which judges a program that receives webhooks.
import { randomBytes } from "node:crypto";
import { isLoopback } from "../../cli/probe.ts";
import { createReader, OptionsError, parseFlags } from "../../cli/options.ts";
import type { Report } from "../../results.ts";
import type { Output } from "../../run/progress.ts";
import { quoted } from "../../target/shell.ts";
import { runSide, readSideOptions, sideFlags, sideUsage, type SideOptions } from "../command.ts";
import { outageOf, startSubject } from "./process.ts";
import { defaultLimits, runReceiver } from "./run.ts";
import type { Limits } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { eventNames } from "./events.ts";
import { effectsFromCommand, effectsFromUrl, type Subject } from "./subject.ts";

/** The text that `certify receiver --help` prints. */
export const receiverUsage = `Usage: certify receiver --url URL --effects-url URL [options]

Judges a program that receives webhooks. The suite plays the service and sends genuine, forged, repeated and broken events.
Genuine events take effect, so use a test installation.

  --url URL                   the URL that receives the webhooks
  --effects-url URL           a URL that returns what the receiver did, as a JSON array with an entry for each effect:
                              {"id": webhook-id, "reference": …, "merchantsReference": …, "amount": …}
  --effects-command CMD       a shell command that prints this array, instead of --effects-url
  --command CMD               a shell command that starts the receiver, so that the run can kill it and start it again.
                              It gets WEBHOOK_SECRET and PORT, the port of --url
  --outage-command CMD        a shell command that makes effects fail for as long as it runs. It prints a line once they
                              fail
  --timeout MS                how long a response may take (default: 15000)
  --settle-timeout SECONDS    how long an effect may take after the response (default: 5)
  --events TYPE,…             the types of events that the receiver gets, such as disbursement.*; the certificate says
                              so (default: all types)
  --serial                    the receiver reads one request at a time, because it is tried without the proxy that reads
                              requests for it; the certificate names what cannot be judged then
  --yes                       confirm that events may take effect on a receiver that is not on loopback
${sideUsage("receiver")}

Environment:
  WEBHOOK_SECRET              the receiver's secret; with --command, a new one by default
  WEBHOOK_SECRET_OLD          a second secret that the receiver accepts`;

/** The options of `certify receiver`. */
export const receiverFlags = {
  ...sideFlags,
  url: { type: "string" },
  command: { type: "string" },
  "effects-url": { type: "string" },
  "effects-command": { type: "string" },
  "outage-command": { type: "string" },
  timeout: { type: "string", default: String(defaultLimits.timeoutMs) },
  "settle-timeout": { type: "string", default: String(defaultLimits.settleMs / 1000) },
  events: { type: "string", multiple: true },
  serial: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} as const;

const copied = [
  "url",
  "command",
  "effects-url",
  "effects-command",
  "outage-command",
  "timeout",
  "settle-timeout",
] as const;

export type ReceiverOptions = SideOptions & {
  url: string;
  /** Starts the receiver; undefined if it runs already. */
  command?: string;
  effects: { url: string } | { command: string };
  outageCommand?: string;
  secret: string;
  oldSecret?: string;
  limits: Limits;
  events?: string[];
  isSerial: boolean;
  /** The options, as shell words, that repeat the run. */
  repeatFlags: string[];
};

const secretForm = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

function readSecret(name: string, value: string | undefined, faults: string[]): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (!secretForm.test(value)) faults.push(`${name} must be whsec_ followed by the base64 of 24 to 64 bytes`);
  return value;
}

const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

function readUrl(flag: string, value: string, faults: string[]): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const fits = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash;
  if (!fits) faults.push(`--${flag} must be an http or https URL without user or fragment`);
  return fits ? value : "http://invalid";
}

function readEffects(values: Partial<Record<"effects-url" | "effects-command", string>>, faults: string[]) {
  const { "effects-url": url, "effects-command": command } = values;
  if ((url === undefined) === (command === undefined)) {
    faults.push("say what the receiver did, with either --effects-url URL or --effects-command COMMAND");
  }
  return url === undefined ? { command: command ?? "" } : { url: readUrl("effects-url", url, faults) };
}

const eventsOf = (pattern: string) =>
  eventNames.filter((name) => name === pattern || (pattern.endsWith(".*") && name.startsWith(pattern.slice(0, -1))));

/** Reads types of events, each a name or a product followed by `.*`. */
function readEvents(values: readonly string[], faults: string[]): string[] {
  const patterns = values.flatMap((value) => value.split(",")).map((pattern) => pattern.trim());
  for (const pattern of patterns.filter((each) => eventsOf(each).length === 0)) {
    faults.push(
      `--events: no event of the contract is ${JSON.stringify(pattern)}. Its events: ${eventNames.join(", ")}`,
    );
  }
  return eventNames.filter((name) => patterns.some((pattern) => eventsOf(pattern).includes(name)));
}

/**
 * Reads the options of `certify receiver`.
 * @throws OptionsError with every fault found
 */
export function readReceiverOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  newSeed: () => number,
): ReceiverOptions {
  const values = parseFlags(args, receiverFlags);
  const faults: string[] = [];
  const read = createReader(faults);
  if (values.url === undefined) faults.push("--url is missing: give the URL that receives the webhooks");
  const url = readUrl("url", values.url ?? "http://missing", faults);
  const given = readSecret("WEBHOOK_SECRET", env["WEBHOOK_SECRET"], faults);
  const oldSecret = readSecret("WEBHOOK_SECRET_OLD", env["WEBHOOK_SECRET_OLD"], faults);
  const { command, "outage-command": outageCommand } = values;
  if (given === undefined && command === undefined) {
    faults.push("no secret: set WEBHOOK_SECRET to the receiver's secret, or let --command start the receiver");
  }
  if (values.url !== undefined && faults.length === 0 && !isLoopback(new URL(url).hostname) && !values.yes) {
    faults.push(
      "--url is not on loopback: genuine events take effect there, although their payments do not exist. " +
        "Use a test installation and add --yes to confirm",
    );
  }
  const repeated = copied.filter((flag) => values[flag] !== undefined && values[flag] !== defaultOf(flag));
  const options: ReceiverOptions = {
    ...readSideOptions(
      "receiver",
      values,
      scenarios.map(({ id }) => id),
      newSeed,
      faults,
    ),
    url,
    ...(command === undefined ? {} : { command }),
    effects: readEffects(values, faults),
    ...(values.events ? { events: readEvents(values.events, faults) } : {}),
    isSerial: values.serial,
    ...(outageCommand === undefined ? {} : { outageCommand }),
    secret: given ?? newSecret(),
    ...(oldSecret === undefined ? {} : { oldSecret }),
    limits: {
      ...defaultLimits,
      timeoutMs: read.whole("timeout", values.timeout, 1, 600_000),
      settleMs: read.whole("settle-timeout", values["settle-timeout"], 0, 3600) * 1000,
    },
    repeatFlags: [
      ...repeated.flatMap((flag) => [`--${flag}`, quoted(values[flag]!)]),
      ...(values.events ?? []).flatMap((types) => ["--events", quoted(types)]),
      ...(values.serial ? ["--serial"] : []),
      ...(values.yes ? ["--yes"] : []),
    ],
  };
  if (faults.length > 0) throw new OptionsError(faults);
  return options;
}

const defaultOf = (flag: (typeof copied)[number]): string | undefined => {
  const given = receiverFlags[flag];
  return "default" in given ? given.default : undefined;
};

/** Starts the receiver if the run has to, and returns it as the run sees it. */
async function openSubject(options: ReceiverOptions, env: NodeJS.ProcessEnv): Promise<Subject> {
  const { url, command, effects, outageCommand, secret, oldSecret } = options;
  const secrets = { WEBHOOK_SECRET: secret, ...(oldSecret === undefined ? {} : { WEBHOOK_SECRET_OLD: oldSecret }) };
  return {
    url,
    effects: "url" in effects ? effectsFromUrl(effects.url) : effectsFromCommand(effects.command, env),
    ...(command === undefined ? {} : { restart: await startSubject(command, url, { ...env, ...secrets }) }),
    ...(outageCommand === undefined ? {} : { outage: outageOf(outageCommand, env) }),
  };
}

/**
 * Judges a receiver and returns the report. Ends the receiver if the run has started it.
 * @param env the environment of the commands
 * @param interrupted ends the run early when it is aborted
 * @throws CannotRun if the receiver does not start or the probe does not work
 */
export async function judgeReceiver(
  options: ReceiverOptions,
  env: NodeJS.ProcessEnv,
  output: Output,
  interrupted: AbortSignal,
): Promise<Report> {
  const subject = await openSubject(options, env);
  try {
    // A probe that does not work would otherwise show only after the first events.
    await subject.effects();
    const runId = randomBytes(16).toString("hex");
    return await runReceiver({ ...options, subject, runId, output, interrupted });
  } finally {
    await subject.restart?.kill();
  }
}

/** Runs `certify receiver` and returns its exit code. */
export async function certifyReceiver(args: readonly string[], newSeed: () => number): Promise<0 | 1 | 2> {
  const options = readReceiverOptions(args, process.env, newSeed);
  return runSide(options.reporting, (interrupted) => judgeReceiver(options, process.env, process.stdout, interrupted));
}
