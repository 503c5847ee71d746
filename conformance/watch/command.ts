// Implements `certify watch`, which judges a service by the traffic that it has anyway.
import { basename } from "node:path";
import { addAbortSignal } from "node:stream";
import { durationMs, oneOf, plainUrl, readFlags, refuse, type Options, type Values } from "../cli/flags.ts";
import { listener, seconds, serviceGroups } from "../cli/options.ts";
import { createInterruption } from "../cli/reporting.ts";
import { complain } from "../report/visible.ts";
import { CannotRun, type Profile } from "../results.ts";
import { readTls } from "../target/tls.ts";
import type { Routes } from "./forward.ts";
import { readHar } from "./har.ts";
import { createJudge } from "./judge.ts";
import type { WatchSettings } from "./judge-pipe.ts";
import { readLines } from "./lines.ts";
import { openOutlet } from "./outlet.ts";
import { openRecording } from "./recorded.ts";

const longestIntervalMs = 24 * 86_400_000;

function interval(value: string): number {
  const ms = durationMs(value);
  if (ms > 0 && ms <= longestIntervalMs) return ms;
  throw new CannotRun(`must be at least 1m and at most 24d, not ${JSON.stringify(value)}`);
}

const { ca, cert, key } = serviceGroups.Target;

/** The options of `certify watch`. */
export const watchOptions = {
  target: {
    value: "URL",
    meaning: "the service; with `--har` and `--exchanges`, the base URL to which requests count",
    otherwise: "from a file, the first service that has a path of the contract",
    read: plainUrl,
  },
  listen: { value: "HOST:PORT", meaning: "address on which to forward requests to `--target`", read: listener },
  "webhooks-to": {
    value: "URL",
    meaning: "the receiver to which to forward webhooks, an origin without a path",
    read: plainUrl,
  },
  "webhooks-listen": { value: "HOST:PORT", meaning: "address on which to forward them", read: listener },
  har: { value: "FILE", meaning: "a recording in HAR 1.2, also with gzip; `-` reads standard input" },
  exchanges: {
    value: "FILE",
    meaning: "a log with an exchange or webhook per line, in JSON, also with gzip; `-` follows standard input",
  },
  profile: {
    value: "core|extended",
    meaning: "`core`: what the interface document states. `extended`: also this project's decisions",
    initial: "core",
    read: oneOf<Profile>("core", "extended"),
  },
  "visible-after": {
    value: "SECONDS",
    meaning: "for how long after a change a read may still show the earlier state, as replicas do",
    initial: "5",
    read: seconds(0),
  },
  "notified-within": {
    value: "SECONDS",
    meaning: "states that every webhook is among the traffic, and within which time a final status is notified",
    otherwise: "a webhook that is missing contradicts nothing",
    read: seconds(1),
  },
  ca,
  cert,
  key,
  report: { value: "DIR", meaning: "directory for the report", initial: "./certify-report" },
  every: {
    value: "DURATION",
    meaning: "writes the report while the watch runs, such as every `90m`, `1h` or `1d`",
    otherwise: "only at the end",
    read: interval,
  },
  metrics: { value: "HOST:PORT", meaning: "serves counters for Prometheus on `/metrics`", read: listener },
} as const satisfies Options;

type Given = Values<typeof watchOptions>;

const isOrigin = (url: string) => new URL(url).pathname === "/";
const mustBeOrigin = "must be an origin such as https://pay.example: each path is forwarded as it is sent";

/** Says what is missing or does not go together. */
function faultsIn(given: Given): string[] {
  const { target, listen, har, exchanges, "webhooks-to": webhooksTo, "webhooks-listen": webhooksListen } = given;
  const sources = Object.entries({ listen, har, exchanges }).filter(([, value]) => value !== undefined);
  const named = sources.map(([name]) => `--${name}`).join(" and ");
  const problems: [isFound: boolean, text: string][] = [
    [
      named === "",
      "no traffic: forward it with --target URL --listen HOST:PORT, or give --har FILE or --exchanges FILE",
    ],
    [sources.length > 1, `${named} exclude each other: a watch judges one source`],
    [listen !== undefined && target === undefined, "--listen needs --target, to which requests are forwarded"],
    [
      (webhooksTo === undefined) !== (webhooksListen === undefined),
      "--webhooks-to and --webhooks-listen need each other",
    ],
    [!listen && webhooksTo !== undefined, "--webhooks-to needs --listen: a file has webhooks among its lines"],
    [listen !== undefined && target !== undefined && !isOrigin(target), `--target ${mustBeOrigin}`],
    [webhooksTo !== undefined && !isOrigin(webhooksTo), `--webhooks-to ${mustBeOrigin}`],
  ];
  return problems.flatMap(([isFound, text]) => (isFound ? [text] : []));
}

function settingsOf(given: Given): WatchSettings {
  const { profile, target, har, exchanges, report: folder, every: everyMs, metrics } = given;
  const file = har ?? exchanges ?? "";
  const source = target ?? (file === "-" ? "standard input" : basename(file));
  const declared = { visibleAfterMs: given["visible-after"], notifiedWithinMs: given["notified-within"] };
  // A forward sees exchanges and webhooks by one clock.
  const clocks = given["webhooks-to"] === undefined ? {} : { webhookClockMs: 0 };
  return { judge: { profile, ...declared, ...clocks }, outlet: { source, declared, folder, everyMs, metrics } };
}

/** Judges a recording. An interruption ends it early, but with a report of what was read. */
async function watchFile({ har, exchanges = "", target }: Given, { judge: options, outlet: settings }: WatchSettings) {
  const { interrupted, listen, unlisten } = createInterruption();
  const judge = createJudge(options);
  try {
    const outlet = await openOutlet(settings, judge.result);
    listen();
    const input = addAbortSignal(interrupted, await openRecording(har ?? exchanges));
    const reading = har === undefined ? readLines(input, judge, target) : readHar(input, judge, target);
    const failure = await reading.catch((error: Error) => (interrupted.aborted ? undefined : error));
    const seen = judge.result();
    // Without anything to report, the error says more than a report.
    if (failure && seen.exchanges + seen.webhooks === 0) throw failure;
    if (failure) complain(`${failure.message} The report has what was read before.`);
    const exitCode = await outlet.finish();
    return failure ? exitCode || 2 : exitCode;
  } finally {
    unlisten();
    judge.close();
  }
}

/**
 * Runs `certify watch` and returns its exit code: 0 without a contradiction, 1 if a must was contradicted, and 2 if
 * nothing was seen.
 * @throws OptionsError with every fault of the options
 * @throws CannotRun if the traffic cannot be read or forwarded, or the report cannot be written
 */
export async function watch(args: readonly string[]): Promise<0 | 1 | 2> {
  const { values: given, faults } = readFlags(args, watchOptions);
  if (faults.length === 0) faults.push(...faultsIn(given));
  const certificates = readTls({ ca: given.ca, cert: given.cert, key: given.key }, new Date(), faults) ?? {};
  refuse(faults);
  const settings = settingsOf(given);
  const { target, listen, "webhooks-to": to, "webhooks-listen": webhooksListen } = given;
  if (target === undefined || !listen) return watchFile(given, settings);
  const routes: Routes = { service: { listen, target: new URL(target), certificates } };
  // The client certificate is for the service alone.
  const { cert: _cert, key: _key, ...authorities } = certificates;
  if (to !== undefined && webhooksListen)
    routes.webhooks = { listen: webhooksListen, target: new URL(to), certificates: authorities };
  return (await import("./forward.ts")).forward(routes, settings) as Promise<0 | 1 | 2>;
}
