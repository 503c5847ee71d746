// Implements `certify receiver`, which judges a program that receives webhooks.
import { randomBytes } from "node:crypto";
import { isLoopback } from "../../cli/probe.ts";
import { helpOf, names, readFlags, repeatWords, whole, type Options } from "../../cli/flags.ts";
import { CannotRun, type Report } from "../../results.ts";
import { runSide, sideOptions, sideOptionsOf } from "../command.ts";
import { defaultLimits, runReceiver, scenarios } from "./run.ts";
import { eventNames } from "./webhook.ts";
import { effectsFromCommand, effectsFromUrl, outageOf, startSubject, type Subject } from "./subject.ts";

function receiverUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return value;
  throw new CannotRun("must be an http or https URL without user or fragment");
}

/** Reads types of events, each a name or a product followed by `.*`. */
function events(value: string): string[] {
  return names(value).flatMap((pattern) => {
    const prefix = pattern.endsWith(".*") ? pattern.slice(0, -1) : undefined;
    const meant = eventNames.filter((name) => name === pattern || (prefix !== undefined && name.startsWith(prefix)));
    if (meant.length > 0) return meant;
    const known = eventNames.join(", ");
    throw new CannotRun(`no event of the contract is ${JSON.stringify(pattern)}. Its events: ${known}`);
  });
}

/** The options of `certify receiver`. */
export const receiverFlags = {
  url: {
    value: "URL",
    meaning: "the URL that receives the webhooks",
    required: "give the URL that receives the webhooks",
    read: receiverUrl,
  },
  "effects-url": {
    value: "URL",
    meaning: "a URL that returns what the receiver did",
    read: receiverUrl,
  },
  "effects-command": {
    value: "CMD",
    meaning: "a shell command that prints what the receiver did, instead of `--effects-url`",
  },
  command: {
    value: "CMD",
    meaning:
      "a shell command that starts the receiver, so that the run can kill it and start it again. It gets `WEBHOOK_SECRET` and `PORT`, the port of `--url`",
  },
  "outage-command": {
    value: "CMD",
    meaning: "a shell command that makes effects fail for as long as it runs. It prints a line once they fail",
  },
  timeout: {
    value: "MS",
    meaning: "how long a response may take",
    initial: String(defaultLimits.timeoutMs),
    read: whole(1, 600_000),
  },
  "settle-timeout": {
    value: "SECONDS",
    meaning: "how long an effect may take after the response",
    initial: String(defaultLimits.settleMs / 1000),
    read: whole(0, 3600),
  },
  events: {
    value: "TYPE,…",
    meaning: "the types of events that the receiver gets, such as `disbursement.*`; the certificate says so",
    otherwise: "all",
    many: true,
    read: events,
  },
  serial: {
    meaning:
      "the receiver reads one request at a time, because it is tried without the proxy that reads requests for it; the certificate names what cannot be judged then",
  },
  yes: { meaning: "confirms that events may take effect on a receiver that is not on loopback" },
  ...sideOptions("receiver"),
} as const satisfies Options;

/** What `certify receiver --help` says. */
export const receiverHelp = `The suite plays the service and sends genuine, forged, repeated and broken events.
Genuine events take effect, so use a test installation.
What the receiver did is a JSON array with an entry for each effect:
{"id": webhook-id, "reference": …, "merchantsReference": …, "amount": …}

${helpOf(receiverFlags)}

Environment:
  WEBHOOK_SECRET              the receiver's secret; with --command, a new one by default
  WEBHOOK_SECRET_OLD          a second secret that the receiver accepts`;

const secretForm = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

/** Reads the receiver's secrets, and makes one for a receiver that the run starts. */
function readSecrets(env: NodeJS.ProcessEnv, isStarted: boolean, faults: string[]): string[] {
  const { WEBHOOK_SECRET: own = "", WEBHOOK_SECRET_OLD: old = "" } = env;
  for (const [name, secret] of Object.entries({ WEBHOOK_SECRET: own, WEBHOOK_SECRET_OLD: old })) {
    if (secret && !secretForm.test(secret))
      faults.push(`${name} must be whsec_ followed by the base64 of 24 to 64 bytes`);
  }
  if (!own && !isStarted) {
    faults.push("no secret: set WEBHOOK_SECRET to the receiver's secret, or let --command start the receiver");
  }
  return [own || `whsec_${randomBytes(32).toString("base64")}`, ...(old ? [old] : [])];
}

/**
 * Reads the options of `certify receiver`.
 * @throws OptionsError with every fault found
 */
export function readReceiverOptions(args: readonly string[], env: NodeJS.ProcessEnv, newSeed: () => number) {
  const { values, given, faults } = readFlags(args, receiverFlags);
  const { url, command, timeout, serial } = values;
  const secrets = readSecrets(env, command !== undefined, faults);
  if ((given["effects-url"] === undefined) === (given["effects-command"] === undefined)) {
    faults.push("say what the receiver did, with either --effects-url URL or --effects-command COMMAND");
  }
  if (faults.length === 0 && !isLoopback(new URL(url).hostname) && !values.yes) {
    faults.push(
      "--url is not on loopback: genuine events take effect there, although their payments do not exist. " +
        "Use a test installation and add --yes to confirm",
    );
  }
  const chosen = values.events?.flat();
  return {
    ...values,
    ...sideOptionsOf("receiver", values, scenarios, newSeed, faults),
    secrets,
    limits: { ...defaultLimits, timeoutMs: timeout, settleMs: values["settle-timeout"] * 1000 },
    events: chosen && eventNames.filter((name) => chosen.includes(name)),
    isSerial: serial,
    repeatFlags: repeatWords(receiverFlags, given),
  };
}
type ReceiverOptions = ReturnType<typeof readReceiverOptions>;

/**
 * Judges a receiver and returns the report. Starts the receiver if the options say how, and ends it.
 * @throws CannotRun if the receiver does not start or the probe does not work
 */
async function judgeReceiver(options: ReceiverOptions, interrupted: AbortSignal): Promise<Report> {
  const { env, stdout: output } = process;
  const { url, command, secrets, "outage-command": outageCommand, "effects-command": effectsCommand } = options;
  const [secret, old] = secrets;
  const variables = { ...env, WEBHOOK_SECRET: secret, WEBHOOK_SECRET_OLD: old };
  const subject: Subject = {
    url,
    effects:
      effectsCommand === undefined ? effectsFromUrl(options["effects-url"]!) : effectsFromCommand(effectsCommand, env),
    restart: command === undefined ? undefined : await startSubject(command, url, variables),
    outage: outageCommand === undefined ? undefined : outageOf(outageCommand, env),
  };
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
  return runSide(options, (interrupted) => judgeReceiver(options, interrupted));
}
