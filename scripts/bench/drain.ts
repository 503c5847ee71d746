// Measures what happens when a receiver comes back to many waiting webhooks: how fast they arrive, and how long creates
// take meanwhile, compared with the seconds before.
// Usage: node scripts/bench/drain.ts [--waiting 60000]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { API_KEY, load, payout, quantile } from "./load.ts";
import { startServer, startTarget } from "./target.ts";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const CREATES_PER_SECOND = 100;
/** Shorter than the wait before the first retry, because a retry that succeeds shows the server that the receiver is back. */
const SECONDS_BEFORE = 3;

const { values } = parseArgs({ options: { waiting: { type: "string", default: "60000" } } });
const waiting = Number(values.waiting);

const folder = await mkdtemp(join(tmpdir(), "drain-"));
const server = await startServer("server", {
  DATABASE_URL: `sqlite:${join(folder, "server.db")}`,
  SANDBOX_API_KEY: API_KEY,
  SETTLE_DELAY_MS: "0",
});
const receiver = await startTarget("receiver", [fileURLToPath(new URL("receiver.ts", import.meta.url))]);
const pool = new Pool(server.url, { connections: 16 });

/** Creates a payout without webhook and returns the latency in milliseconds. */
async function create(): Promise<number> {
  const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
  const { method, path, body } = payout();
  const begun = performance.now();
  const response = await pool.request({ method, path, headers, body: body!() });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`create returned ${response.statusCode}`);
  return performance.now() - begun;
}

/** Creates payouts at a constant rate until `isOver` says so. Returns the latencies in ascending order. */
async function createUntil(isOver: () => boolean | Promise<boolean>): Promise<number[]> {
  const sent: Promise<number>[] = [];
  for (const begun = performance.now(); !(await isOver()); await sleep(5)) {
    const due = ((performance.now() - begun) / 1_000) * CREATES_PER_SECOND;
    while (sent.length < due) sent.push(create());
  }
  return (await Promise.all(sent)).toSorted((a, b) => a - b);
}

const print = (when: string, latencies: readonly number[]) =>
  console.log(
    `creates ${when}`.padEnd(40),
    `p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p99 ${quantile(latencies, 0.99).toFixed(1)} ms`,
  );

try {
  await fetch(`${receiver.url}/down`, { method: "PUT" });
  await load(server, waiting, payout(receiver.url));
  const end = performance.now() + SECONDS_BEFORE * 1_000;
  print("while the receiver is down", await createUntil(() => performance.now() > end));

  await fetch(`${receiver.url}/up`, { method: "PUT" });
  const up = Date.now();
  let asked = 0;
  const arrivals: number[] = [];
  const during = await createUntil(async () => {
    if (performance.now() - asked > 250) {
      asked = performance.now();
      const latest = (await (await fetch(receiver.url)).json()) as { arrivedAt: number }[];
      arrivals.push(...latest.map(({ arrivedAt }) => arrivedAt));
    }
    return arrivals.length >= waiting;
  });
  print("while the receiver catches up", during);
  arrivals.sort((a, b) => a - b);
  const [first, last] = [arrivals[0]! - up, arrivals.at(-1)! - up];
  const perSecond = (arrivals.length * 1_000) / (last - first);
  console.log(
    `${arrivals.length} waiting webhooks: the first after ${(first / 1_000).toFixed(1)} s, ` +
      `all within ${(last / 1_000).toFixed(1)} s, ${perSecond.toFixed(0)} per second`,
  );
} finally {
  await pool.close();
  await Promise.all([server.stop(), receiver.stop()]);
  await rm(folder, { recursive: true });
}
