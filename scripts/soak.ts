// `npm run soak -- [--minutes N]`: 80 % of the load that the server on SQLite can carry, with webhooks, for ten
// minutes; then 1,000 clients that send their requests slowly. Exits with 1 unless memory, handles and latency stay
// flat. Needs an idle machine, because it compares latencies.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { API_KEY, load, payout, quantile, type Request } from "./bench/load.ts";
import { startServer, startTarget } from "./bench/target.ts";
import { growth, thirds, type Sample } from "./soak/samples.ts";
import { startSlowSenders } from "./soak/slow-senders.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const SECONDS = Number(values.minutes) * 60;
const SHARE = 0.8;
const PROBE = 20_000;
const SLOW = { senders: 1_000, perSecond: 200, seconds: 40 };
/** This is longer than a connection without requests stays open. */
const REST_S = 70;
/** The criteria. Memory is judged in the second half, when caches are full. */
const MOST = { growthMbPerMinute: 3, latencyRatio: 1.5, slowRatio: 2 };

const folder = await mkdtemp(join(tmpdir(), "soak-"));
const env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "1000" };
const server = await startServer("server", env);
const receiver = await startTarget("receiver", [new URL("bench/receiver.ts", import.meta.url).pathname]);
const pool = new Pool(server.url, { connections: 64 });

/** Waits until this many webhooks have arrived. */
async function arrivals(count: number): Promise<void> {
  for (let idle = 0, left = count; left > 0; await sleep(100)) {
    const arrived = ((await (await fetch(receiver.url)).json()) as unknown[]).length;
    left -= arrived;
    idle = arrived > 0 ? 0 : idle + 1;
    if (idle > 600) throw new Error(`${left} of ${count} webhooks did not arrive`);
  }
}

async function timed({ method, path, body }: Request): Promise<number> {
  const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
  const begun = performance.now();
  const response = await pool.request({ method, path, headers, body: body?.() ?? null });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`${method} ${path} returned ${response.statusCode}`);
  return performance.now() - begun;
}

/** Sends at a constant rate, whatever the server does. Returns the latencies in the order of the requests. */
async function atRate(perSecond: number, seconds: number, request: Request): Promise<number[]> {
  const latencies: number[] = [];
  const sent: Promise<void>[] = [];
  const begun = performance.now();
  const send = async (index: number) => void (latencies[index] = await timed(request));
  for (; sent.length < perSecond * seconds; await sleep(5)) {
    const due = Math.min(perSecond * seconds, ((performance.now() - begun) / 1_000) * perSecond);
    while (sent.length < due) sent.push(send(sent.length));
  }
  await Promise.all(sent);
  return latencies;
}

/** The payouts per second that the server and its webhooks can carry. */
async function capacity(): Promise<number> {
  await load(server, PROBE, payout());
  const begun = performance.now();
  await Promise.all([load(server, PROBE, payout(receiver.url)), arrivals(PROBE)]);
  return (PROBE * 1_000) / (performance.now() - begun);
}

const failures: string[] = [];
function report(what: string, value: number, most: number) {
  console.log(`${value <= most ? "ok  " : "FAIL"} ${what}: ${value.toFixed(2)}, at most ${most}`);
  if (value > most) failures.push(what);
}

async function soak() {
  const rate = Math.floor(SHARE * (await capacity()));
  const handles = await handlesAtRest();
  console.log(`${rate} payouts with webhooks per second (${SHARE * 100} % of the capacity) for ${SECONDS} s`);
  const samples: Sample[] = [];
  const begun = performance.now();
  const sample = () => samples.push({ at: (performance.now() - begun) / 1_000, megabytes: server.memory().now });
  const timer = setInterval(sample, 1_000);
  const count = Math.ceil(rate * SECONDS);
  const [latencies] = await Promise.all([atRate(rate, SECONDS, payout(receiver.url)), arrivals(count)]);
  clearInterval(timer);
  const half = samples.slice(samples.length / 2);
  const { first, last } = thirds(latencies);
  console.log(
    `memory ${half.at(-1)!.megabytes.toFixed(0)} MB, p99 ${first.toFixed(1)} ms at first, ${last.toFixed(1)} at last`,
  );
  report("growth of memory in the second half, MB per minute", growth(half), MOST.growthMbPerMinute);
  report("p99 of the last third, as a multiple of the first", last / first, MOST.latencyRatio);
  report("handles that the load left behind", (await handlesAtRest()) - handles, 0);
}

async function slowSenders() {
  const p99 = async () =>
    quantile(
      (await atRate(SLOW.perSecond, SLOW.seconds, payout())).toSorted((a, b) => a - b),
      0.99,
    );
  const [before, handles] = [await p99(), await handlesAtRest()];
  const slow = await startSlowSenders(server.url, SLOW.senders);
  const beside = await p99();
  console.log(`${SLOW.senders} slow senders: p99 of others ${beside.toFixed(1)} ms, without them ${before.toFixed(1)}`);
  report("p99 beside slow senders, as a multiple of that without", beside / before, MOST.slowRatio);
  report("slow senders that were not refused with 408", SLOW.senders - slow.refused(), 0);
  slow.stop();
  report("handles that slow senders left behind", (await handlesAtRest()) - handles, 0);
}

/** The fewest open handles while the server gets no requests, after idle connections have been closed. */
async function handlesAtRest(): Promise<number> {
  let least = Infinity;
  for (let second = 0; second < REST_S; second += 1) {
    await sleep(1_000);
    least = Math.min(least, server.handles());
  }
  return least;
}

try {
  await soak();
  await slowSenders();
} finally {
  await pool.close();
  await Promise.all([server.stop(), receiver.stop()]);
  await rm(folder, { recursive: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;
