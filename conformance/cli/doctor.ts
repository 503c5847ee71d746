// Implements `certify doctor`, which examines the connection to a target before a run. It sends only GET requests to
// the target, so it creates nothing.
import { lookup } from "node:dns/promises";
import { RunStopped } from "../target/ledger.ts";
import { createHttpClient } from "../target/http.ts";
import { createReceiver, type Receiver } from "../target/receiver.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { counted } from "../report/words.ts";
import { oneLine } from "../report/visible.ts";
import type { RunOptions } from "../run-options.ts";
import { thisMachine } from "../recording/outside.ts";
import { openTarget } from "../run/open.ts";
import { checksBeyondBudget, needsConsent, worstCase } from "../run/plan.ts";
import { plannedChecks } from "../run/run.ts";
import type { CommandResult } from "./flags.ts";
import { findControls } from "./controls.ts";
import type { CertifyOptions } from "./options.ts";
import { environmentOf, runOptions } from "./probe.ts";
import { addressObstacle, isRefused, lookupAt, pathObstacle } from "./service.ts";

type Point = { name: string; ok: boolean; text: string };
const ok = (name: string, text: string): Point => ({ name, ok: true, text });
const fix = (name: string, text: string): Point => ({ name, ok: false, text });

/** The longest time limit of a request. */
const longestMs = 2500;
const mostSkewMs = 30_000;
// Measured in complete runs of every profile and effect. Many of a check's requests are sent at once.
const requestsPerCheck = 32;
const turnsPerCheck = { core: 14, extended: 20 };
/** The time for a check that does not depend on the network. */
const ownMs = 300;
const startSeconds = 3;

type Opened = ReturnType<typeof openTarget>;

/** Examines the host of the base URL. Returns the response to the lookup of an unknown record if there is one. */
async function examineAddress(options: CertifyOptions, { target }: Opened) {
  const { hostname } = new URL(options.baseUrl);
  const name = "address";
  try {
    const addresses = await lookup(hostname.replace(/^\[(.*)\]$/, "$1"), { all: true });
    const response = await target.send({ method: "GET", path: lookupAt(target) });
    const obstacle = await addressObstacle(options.baseUrl, response);
    if (obstacle) return { point: fix(name, obstacle) };
    const found = addresses.map(({ address }) => address).join(", ");
    const tls = options.baseUrl.startsWith("https:") ? ", its certificate is valid" : "";
    const text = `connected to ${found}${tls}, and it responds in ${response.exchange.durationMs} ms`;
    return { point: ok(name, text), response };
  } catch (error) {
    if (error instanceof RunStopped) return { point: fix(name, `${error.message}.`) };
    const text = `the host name ${hostname} cannot be resolved. Correct the host in --base-url, or check the DNS server.`;
    return { point: fix(name, text) };
  }
}

async function examinePath({ target, http }: Opened, response: TargetResponse): Promise<Point> {
  const obstacle = await pathObstacle(target, http, response);
  return obstacle === undefined
    ? ok("base path", `${target.options.baseUrl}/v1/disbursements/… looks like the service`)
    : fix("base path", obstacle);
}

function examineKey(name: string, response: TargetResponse): Point {
  const { status } = response;
  return isRefused(response) ? fix(name, `rejected with ${status}. Set a valid key.`) : ok(name, "accepted");
}

async function examineSecondKey({ secondKey }: CertifyOptions, { target }: Opened): Promise<Point> {
  const name = "API_KEY_2";
  if (secondKey === undefined) {
    return ok(name, "not set, so what needs a second merchant is not judged. Set another merchant's key to judge it");
  }
  return examineKey(name, await target.send({ method: "GET", path: lookupAt(target), key: "second" }));
}

/** Compares this machine's clock with the Date header, which has a resolution of one second. */
export function examineClock(date: string | undefined, now: Date): Point {
  const skewMs = Date.parse(date ?? "") - now.getTime();
  if (!Number.isFinite(skewMs)) return ok("clock", "unknown: the response has no Date header");
  if (Math.abs(skewMs) <= mostSkewMs) return ok("clock", "agrees with the target's, within 30 s");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const order = skewMs > 0 ? "ahead of" : "behind";
  return fix("clock", `the target's is ${seconds} s ${order} this machine's. Synchronise both with NTP.`);
}

/** Sends a notification to the receiver's public URL, and says whether it is received. */
async function examineWebhookUrl(receiver: Receiver, listening: string, loopback: boolean): Promise<Point> {
  const name = "webhooks";
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
    return ok(name, `the receiver listens on ${listening}, and ${url.origin} leads to it from here${unknown}`);
  }
  const what =
    "failure" in result
      ? `cannot be reached from here: ${result.failure}`
      : `returns ${result.status}, but the receiver on ${listening} received nothing: the URL leads elsewhere`;
  return fix(
    name,
    `${url.origin} ${what}. Correct --webhook-url, or start the tunnel or proxy in front of the receiver.`,
  );
}

async function examineWebhooks(options: RunOptions): Promise<Point> {
  const name = "webhooks";
  const { webhookListen: listen, webhookUrl: publicUrl, loopback } = options;
  if (!listen) {
    return ok(
      name,
      "no receiver, so what needs webhooks is not judged. " +
        "Add --webhook-listen HOST:PORT --webhook-url URL, with a URL that the target can reach, to judge it",
    );
  }
  const address = `${listen.host}:${listen.port}`;
  const isPublic = !/^(127\.|localhost$|::1$|0\.0\.0\.0$|::$)/.test(listen.host);
  if (publicUrl === undefined && !loopback && !isPublic) {
    return fix(name, `the target cannot reach ${address}. Add --webhook-url URL, under which it reaches this address.`);
  }
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

function examineSandbox({ environment, controls }: RunOptions): Point {
  const kind = environment ? `/healthz says ${environment}` : "/healthz does not say whether this is a sandbox";
  const found = controls.length > 0 ? `controls found: ${controls.join(", ")}` : "no sandbox controls found";
  return ok("sandbox", `${kind}; ${found}`);
}

/** Estimates how long checks take, without the time that they wait for settlements and webhooks. */
export function estimatedSeconds(
  checks: number,
  { profile, rate = Infinity }: Pick<RunOptions, "profile" | "rate">,
  latencyMs: number,
): number {
  const eachMs = Math.max(turnsPerCheck[profile] * latencyMs + ownMs, (requestsPerCheck * 1000) / rate);
  return startSeconds + Math.ceil((checks * eachMs) / 1000);
}

function examineRun(options: RunOptions, given: CertifyOptions, latencyMs: number): Point {
  const planned = plannedChecks(options);
  const name = "run";
  if (planned.length === 0) return fix(name, `--effects ${options.effects} excludes every check in --only.`);
  if (needsConsent(planned, options) && !given.yes) {
    return fix(name, "it would create payouts on a target that is not on loopback. Add --yes to confirm.");
  }
  const { payouts, amount } = worstCase(planned, options);
  const beyond = checksBeyondBudget(planned, options);
  if (beyond.length > 0) {
    const enough = `--max-payouts ${payouts} --max-total ${amount}`;
    return fix(name, `the budget is too small for ${counted(beyond.length, "check")}. This suffices: ${enough}.`);
  }
  const seconds = estimatedSeconds(planned.length, options, latencyMs);
  const time = seconds < 90 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
  const wait = options.controls.includes("clock") ? "" : ", plus waiting for settlements and webhooks";
  const money =
    payouts === 0
      ? "creates no payouts"
      : `at most ${counted(payouts, "payout")} with a total of ${amount} (lowest denomination)`;
  return ok(name, `--effects ${options.effects}: ${counted(planned.length, "check")}, about ${time}${wait}; ${money}`);
}

const names = ["address", "base path", "API_KEY", "API_KEY_2", "clock", "sandbox", "webhooks", "run"];

const tooSlow = "no result in time, because the target, a proxy or DNS responds too slowly, or because of a 429.";

/** Examines the points in the order of `names`. Ends early if a point makes the remaining points meaningless. */
async function* examine(given: CertifyOptions, opened: Opened): AsyncGenerator<Point, void> {
  const options = { ...given, timeoutMs: opened.target.options.timeoutMs };
  const times: number[] = [];
  opened.target.onResponse(({ exchange }) => times.push(exchange.durationMs));
  const { point, response } = await examineAddress(options, opened);
  yield point;
  if (!response) return;
  const path = isRefused(response) ? ok("base path", "exists") : await examinePath(opened, response);
  yield path;
  if (!path.ok) return;
  const key = examineKey("API_KEY", response);
  yield key;
  yield await examineSecondKey(options, opened);
  yield examineClock(response.headers.date, new Date());
  const health = await opened.target.send({ method: "GET", path: "/healthz", key: "none" });
  // The first request also established the connection, and the requests from here on wait for each other.
  const latencyMs = Math.min(...times.slice(1));
  const environment = environmentOf(health);
  const controls = key.ok && environment !== "live" ? (await findControls(opened.target, "none")).controls : [];
  const run = runOptions(given, { environment, controls });
  yield examineSandbox(run);
  yield await examineWebhooks(run);
  yield examineRun(run, given, latencyMs);
}

/** Collects points until there are no more, or until the time is up. The last point then names the missing points. */
async function pointsUntil(points: AsyncGenerator<Point, void>, overdue?: AbortSignal): Promise<Point[]> {
  const found: Point[] = [];
  const end = new Promise<undefined>((resolve) => {
    overdue?.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  for (;;) {
    const next = await Promise.race([points.next(), end]);
    if (next?.done) return found;
    if (!next) {
      const [current = "run", ...rest] = names.slice(found.length);
      const others = rest.length === 0 ? "" : ` Not examined: ${rest.join(", ")}.`;
      return [...found, fix(current, `${tooSlow}${others}`)];
    }
    found.push(next.value);
  }
}

/**
 * Examines what a run with these options needs, and renders one line for each point. The exit code is 0 if nothing
 * needs to be fixed, otherwise 2.
 * @param overdue ends the examination when it is aborted
 */
export async function doctor(options: CertifyOptions, overdue?: AbortSignal): Promise<CommandResult> {
  const timeoutMs = Math.min(options.timeoutMs, longestMs);
  const machine = thisMachine();
  const opened = openTarget({ ...options, timeoutMs, effects: "none", maxTotal: 0, patienceMs: 0 }, machine);
  const points = await pointsUntil(examine(options, opened), overdue).finally(machine.close);
  const lines = points.map((point) => `${point.ok ? "ok " : "FIX"}  ${point.name.padEnd(11)}${oneLine(point.text)}`);
  const wrong = points.filter((point) => !point.ok).length;
  const last =
    wrong === 0 ? "Nothing to fix." : `${counted(wrong, "point")} to fix. Nothing was created on the target.`;
  return { exitCode: wrong === 0 ? 0 : 2, text: `${[...lines, last].join("\n")}\n` };
}
