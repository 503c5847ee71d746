// Implements `certify doctor`, which examines what a run needs before it starts. It sends only GET requests to the
// target, so it creates nothing.
import { RunStopped } from "../target/ledger.ts";
import { createHttpClient } from "../target/http.ts";
import { createReceiver, type Receiver } from "../target/receiver.ts";
import { counted } from "../report/words.ts";
import { oneLine } from "../report/visible.ts";
import type { RunOptions } from "../run-options.ts";
import { thisMachine } from "../recording/outside.ts";
import { checksBeyondBudget, obstacleTo, worstCase } from "../run/plan.ts";
import { openTarget, plannedChecks } from "../run/run.ts";
import type { Target } from "../target/target.ts";
import type { CommandResult } from "./flags.ts";
import { findControls } from "./controls.ts";
import { examineTarget, fix, ok, type Point } from "./examination.ts";
import type { CertifyOptions } from "./options.ts";
import { runOptions } from "./probe.ts";

/** The time limit of a request, even if --timeout is longer. */
const longestMs = 2500;
const mostSkewMs = 30_000;
// Measured in complete runs of both profiles. Requests that are sent at once share a round trip.
const requestsPerCheck = 32;
const roundTripsPerCheck = { core: 14, extended: 20 };
/** The time for a check, without the network. */
const localMs = 100;
/** How much faster a run is if its checks run in parallel. */
const speedup = 4;
const startSeconds = 3;

/** Compares this machine's clock with the Date header, which has a resolution of one second. */
function examineClock(date: string | undefined, now: Date): Point {
  const skewMs = Date.parse(date ?? "") - now.getTime();
  if (!Number.isFinite(skewMs)) return ok("clock", "unknown: the response has no Date header");
  if (Math.abs(skewMs) <= mostSkewMs) return ok("clock", "agrees with the target's, within 30 s");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const order = skewMs > 0 ? "ahead of" : "behind";
  return fix("clock", `the target's is ${seconds} s ${order} this machine's. Synchronise both with NTP.`);
}

/** Sends a notification to the receiver's public URL, and says whether it is received. */
async function examineWebhookUrl(receiver: Receiver, listening: string, loopback: boolean): Promise<Point> {
  const box = receiver.openMailbox();
  const url = new URL(box.url);
  const http = createHttpClient();
  const body = Buffer.from("{}");
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  const path = url.pathname;
  const result = await http.send({ origin: url, path, method: "POST", headers, body, timeoutMs: longestMs });
  http.close();
  if (box.received.length > 0) {
    const unknown = loopback ? "" : "; whether the target can reach it is unknown until a run";
    return ok("webhooks", `the receiver listens on ${listening}, and ${url.origin} leads to it from here${unknown}`);
  }
  const what =
    "failure" in result
      ? `cannot be reached from here: ${result.failure}`
      : `returns ${result.status}, but the receiver on ${listening} received nothing: the URL leads elsewhere`;
  const advice = "Correct --webhook-url, or start the tunnel or proxy in front of the receiver.";
  return fix("webhooks", `${url.origin} ${what}. ${advice}`);
}

async function examineWebhooks({ webhookListen: listen, webhookUrl: publicUrl, loopback }: RunOptions): Promise<Point> {
  const name = "webhooks";
  if (!listen) {
    const advice =
      "Add --webhook-listen HOST:PORT --webhook-url URL, with a URL that the target can reach, to judge it";
    return ok(name, `no receiver, so what needs webhooks is not judged. ${advice}`);
  }
  const address = `${listen.host}:${listen.port}`;
  const isPublic = !/^(127\.|localhost$|::1$|0\.0\.0\.0$|::$)/.test(listen.host);
  if (publicUrl === undefined && !loopback && !isPublic)
    return fix(name, `the target cannot reach ${address}. Add --webhook-url URL, under which it reaches this address.`);
  let receiver: Receiver;
  try {
    receiver = await createReceiver({ ...listen, publicUrl }, () => new Date());
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "is in use" : (error as Error).message;
    return fix(name, `cannot listen on ${address}: ${why}. Give another address with --webhook-listen.`);
  }
  try {
    return await examineWebhookUrl(receiver, address, loopback);
  } finally {
    await receiver.close();
  }
}

/** Estimates how long checks take, without the time that they wait for settlements and webhooks. */
export function estimatedSeconds(
  checks: number,
  options: Pick<RunOptions, "profile" | "effects" | "linger" | "only" | "rate">,
  latencyMs: number,
): number {
  const { profile, effects, linger, only, rate = Infinity } = options;
  const pays = effects === "money";
  const eachMs = (roundTripsPerCheck[profile] * latencyMs + localMs) / (pays && profile === "core" ? speedup : 1);
  const busy = (checks * Math.max(eachMs, (requestsPerCheck * 1000) / rate)) / 1000;
  // The last checks wait until the first payouts are `linger` seconds old, and then take about 5 s.
  return startSeconds + Math.ceil(Math.max(busy, pays && only === undefined ? linger + 5 : 0));
}

function examineRun(options: RunOptions, given: CertifyOptions, latencyMs: number): Point {
  const planned = plannedChecks(options);
  const name = "run";
  const obstacle = obstacleTo(planned, options, given.yes);
  if (obstacle !== undefined) return fix(name, obstacle);
  const { payouts, amount } = worstCase(planned, options);
  const beyond = checksBeyondBudget(planned, options);
  if (beyond.length > 0) {
    const enough = `--max-payouts ${payouts} --max-total ${amount}`;
    return fix(name, `the budget is too small for ${counted(beyond.length, "check")}. This suffices: ${enough}.`);
  }
  const total = `with a total of ${amount} (lowest denomination)`;
  const money = payouts === 0 ? "creates no payouts" : `at most ${counted(payouts, "payout")} ${total}`;
  const seconds = estimatedSeconds(planned.length, options, latencyMs);
  const time = seconds < 90 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
  const wait = options.controls.includes("clock") ? "" : ", plus waiting for settlements and webhooks";
  return ok(name, `--effects ${options.effects}: ${counted(planned.length, "check")}, about ${time}${wait}; ${money}`);
}

/** Examines the target, then this machine's clock, the sandbox, the webhooks and the budget. */
async function examine(given: CertifyOptions, target: Target, note: (point: Point) => void): Promise<void> {
  const times: number[] = [];
  target.onResponse(({ exchange }) => times.push(exchange.durationMs));
  const found = await examineTarget(given, target, note);
  if (!found) return;
  const { response, isAccepted, environment } = found;
  note(examineClock(response.headers.date, new Date()));
  const controls = isAccepted && environment !== "live" ? (await findControls(target, "none")).controls : [];
  const kind = environment ? `/healthz says ${environment}` : "/healthz does not say whether this is a sandbox";
  const names = controls.length > 0 ? `controls found: ${controls.join(", ")}` : "no sandbox controls found";
  note(ok("sandbox", `${kind}; ${names}`));
  const run = runOptions(given, { environment, controls });
  note(await examineWebhooks(run));
  // Omit the first response time, because it includes establishing the connection.
  note(examineRun(run, given, Math.min(...times.slice(1))));
}

const tooSlow =
  "The examination ended early: the target, a proxy or DNS responds too slowly, or asks to wait with a 429.";

/**
 * Examines what a run with these options needs, and renders one line for each point. The exit code is 0 if nothing
 * needs to be fixed, otherwise 2.
 * @param overdue ends the examination when it is aborted
 */
export async function doctor(options: CertifyOptions, overdue?: AbortSignal): Promise<CommandResult> {
  const timeoutMs = Math.min(options.timeoutMs, longestMs);
  const machine = thisMachine();
  const { target } = openTarget({ ...options, timeoutMs, effects: "none", maxTotal: 0, isImpatient: true }, machine);
  const points: Point[] = [];
  const end = new Promise<Point>((resolve) => {
    overdue?.addEventListener("abort", () => resolve(fix("time", tooSlow)), { once: true });
  });
  const last = await Promise.race([examine(options, target, (point) => points.push(point)), end])
    .catch((error: unknown) => {
      if (error instanceof RunStopped) return fix("address", `${error.message}.`);
      throw error;
    })
    .finally(machine.close);
  const found = [...points, ...(last ? [last] : [])];
  const lines = found.map((point) => `${point.ok ? "ok " : "FIX"}  ${point.name.padEnd(11)}${oneLine(point.text)}`);
  const wrong = found.filter((point) => !point.ok).length;
  const result =
    wrong === 0 ? "Nothing to fix." : `${counted(wrong, "point")} to fix. Nothing was created on the target.`;
  return { exitCode: wrong === 0 ? 0 : 2, text: `${[...lines, result].join("\n")}\n` };
}
