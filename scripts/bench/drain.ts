// Measures what happens when a receiver comes back to many waiting webhooks: how fast they arrive, and how long creates
// take meanwhile, compared with the seconds before. Usage: node scripts/bench/drain.ts [--waiting 60000]
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { sqlite } from "./databases.ts";
import { API_KEY, atRate, load, payout, quantile, sender, sorted } from "./load.ts";
import { newArrivals, startReceiver, startServer } from "./target.ts";

const CREATES_PER_SECOND = 100;
/** Shorter than the wait before the first retry, because a retry that succeeds shows the server that the receiver is back. */
const SECONDS_BEFORE = 3;

const { values } = parseArgs({ options: { waiting: { type: "string", default: "60000" } } });
const waiting = Number(values.waiting);

const database = await sqlite();
const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "0" };
const server = await startServer("server", env);
const receiver = await startReceiver();
const pool = new Pool(server.url, { connections: 16 });
const create = sender(pool, payout());

function print(when: string, latencies: readonly number[]): void {
  const times = sorted(latencies);
  const [p50, p99] = [quantile(times, 0.5).toFixed(1), quantile(times, 0.99).toFixed(1)];
  console.log(`creates ${when}`.padEnd(40), `p50 ${p50} ms, p99 ${p99} ms`);
}

try {
  await fetch(`${receiver.url}/down`, { method: "PUT" });
  await load(server, waiting, payout(receiver.url));
  print("while the receiver is down", await atRate(CREATES_PER_SECOND, SECONDS_BEFORE, create));

  await fetch(`${receiver.url}/up`, { method: "PUT" });
  const up = Date.now();
  let asked = 0;
  const times: number[] = [];
  const during = await atRate(CREATES_PER_SECOND, Infinity, create, async () => {
    if (performance.now() - asked > 250) {
      asked = performance.now();
      times.push(...(await newArrivals(receiver)).map(({ arrivedAt }) => arrivedAt));
    }
    return times.length >= waiting;
  });
  print("while the receiver catches up", during);
  times.sort((a, b) => a - b);
  const [first, last] = [times[0]! - up, times.at(-1)! - up];
  const perSecond = (times.length * 1_000) / (last - first);
  console.log(
    `${times.length} waiting webhooks: the first after ${(first / 1_000).toFixed(1)} s, ` +
      `all within ${(last / 1_000).toFixed(1)} s, ${perSecond.toFixed(0)} per second`,
  );
} finally {
  await pool.close();
  await Promise.all([server.stop(), receiver.stop()]);
  await database.drop();
}
