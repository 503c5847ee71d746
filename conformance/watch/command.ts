// Implements `certify watch`, which judges a service by the traffic that it has anyway.
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal } from "node:stream";
import { durationMs, plainUrl, readFlags, refuse, type Options, type Values } from "../cli/flags.ts";
import { listener, reportOptions, seconds, serviceGroups } from "../cli/options.ts";
import { createInterruption } from "../cli/reporting.ts";
import { CannotRun } from "../results.ts";
import { readTls } from "../target/tls.ts";
import type { Route } from "./forward.ts";
import { readHar } from "./har.ts";
import { readLines } from "./lines.ts";
import { judgeTraffic, type WatchSettings } from "./watch.ts";

/** For how long a read may show an older state, unless more is declared. */
const usualVisibleAfterMs = 5000;
const longestIntervalMs = 24 * 86_400_000;

function interval(value: string): number {
  const ms = durationMs(value);
  if (ms > 0 && ms <= longestIntervalMs) return ms;
  throw new CannotRun(`must be at least 1m and at most 24d, not ${JSON.stringify(value)}`);
}

const { ca, cert, key } = serviceGroups.Target;
const judging = serviceGroups["What to judge"];

/** The options of `certify watch`. */
export const watchOptions = {
  target: {
    value: "URL",
    meaning: "the service; with `--har` and `--exchanges`, the base URL to which requests count",
    otherwise: "from a file, every path of the contract",
    read: plainUrl,
  },
  listen: { value: "HOST:PORT", meaning: "address on which to forward requests to `--target`", read: listener },
  "webhooks-to": {
    value: "URL",
    meaning: "the receiver to which to forward webhooks, an origin without a path",
    read: plainUrl,
  },
  "webhooks-listen": { value: "HOST:PORT", meaning: "address on which to forward them", read: listener },
  har: { value: "FILE", meaning: "a recording in HAR 1.2; `-` reads standard input" },
  exchanges: {
    value: "FILE",
    meaning: "a log with an exchange or webhook per line, in JSON; `-` follows standard input",
  },
  profile: judging.profile,
  declare: judging.declare,
  "notified-within": {
    value: "SECONDS",
    meaning: "states that every webhook is among the traffic, and within which time a final status is notified",
    otherwise: "a webhook that is missing contradicts nothing",
    read: seconds(1),
  },
  ca,
  cert,
  key,
  report: reportOptions.report,
  every: {
    value: "DURATION",
    meaning: "writes the report while the watch runs, such as every `90m`, `1h` or `1d`",
    otherwise: "only at the end",
    read: interval,
  },
  metrics: { value: "HOST:PORT", meaning: "serves counters for Prometheus on `/metrics`", read: listener },
} as const satisfies Options;

type Given = Values<typeof watchOptions>;

/** Says what is missing or does not go together. */
function faultsIn(given: Given): string[] {
  const { target, listen, har, exchanges, "webhooks-to": to, "webhooks-listen": webhooksListen } = given;
  const sources = [listen, har, exchanges].filter((source) => source !== undefined);
  const origins = listen ? [target, to] : [];
  const faults: [isFound: boolean, text: string][] = [
    [sources.length !== 1, "give one source: --target URL --listen HOST:PORT, --har FILE or --exchanges FILE"],
    [listen !== undefined && target === undefined, "--listen needs --target, to which requests are forwarded"],
    [
      !to !== !webhooksListen || (to !== undefined && !listen),
      "--webhooks-to and --webhooks-listen need each other and --listen",
    ],
    [
      origins.some((url) => url !== undefined && new URL(url).pathname !== "/"),
      "--target and --webhooks-to must have no path, because each path is forwarded as it is sent",
    ],
  ];
  return faults.flatMap(([isFound, text]) => (isFound ? [text] : []));
}

function settingsOf(given: Given): WatchSettings {
  const { profile, target, har, exchanges, report: folder, every: everyMs, metrics, declare } = given;
  const file = har ?? exchanges ?? "-";
  return {
    profile,
    target,
    source: target ?? (file === "-" ? "standard input" : basename(file)),
    declared: {
      visibleAfterMs: Math.max(usualVisibleAfterMs, declare?.readAfterWriteMs ?? 0),
      notifiedWithinMs: given["notified-within"],
    },
    // A forward sees exchanges and webhooks by one clock.
    ...(given["webhooks-to"] !== undefined && { webhookClockMs: 0 }),
    folder,
    everyMs,
    metrics,
  };
}

/** Judges a recording. An interruption ends it early, but with a report of what was read. */
async function watchFile({ har, exchanges, target }: Given, settings: WatchSettings) {
  const file = har ?? exchanges ?? "-";
  const input = file === "-" ? process.stdin : (await open(file)).createReadStream();
  const { interrupted, listen, unlisten } = createInterruption();
  return judgeTraffic(settings, async (judge) => {
    listen();
    addAbortSignal(interrupted, input);
    await (har === undefined ? readLines : readHar)(input, judge, target)
      .catch((error: Error) => {
        if (!interrupted.aborted) throw error;
      })
      .finally(unlisten);
  });
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
  const certificates = readTls(given, new Date(), faults) ?? {};
  refuse(faults);
  const settings = settingsOf(given);
  const { target, listen, "webhooks-to": to, "webhooks-listen": webhooksListen } = given;
  if (target === undefined || !listen) return watchFile(given, settings);
  const routes: Route[] = [{ kind: "exchange", listen, target: new URL(target), certificates }];
  // The client certificate is for the service alone.
  const { cert: _cert, key: _key, ...authorities } = certificates;
  if (to !== undefined && webhooksListen)
    routes.push({ kind: "webhook", listen: webhooksListen, target: new URL(to), certificates: authorities });
  return (await import("./forward.ts")).forward(routes, settings) as Promise<0 | 1 | 2>;
}
