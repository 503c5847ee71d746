// Measures webhooks: from a settlement to the delivery, also beside a receiver that does not respond; how many are
// delivered per second; and what happens when a receiver comes back to many waiting webhooks: how fast they arrive, and
// how long creates take meanwhile. Usage: node scripts/bench/webhooks.ts [--waiting 60000]
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { serve } from "../../server/testing/http.ts";
import { atRate, load, payout, quantile, sender, sorted } from "./load.ts";
import { arrivals, withServer, type Arrival } from "./target.ts";

const PER_SECOND = 200;
const SECONDS = 10;
const AS_FAST_AS_POSSIBLE = 20_000;
const CREATES_PER_SECOND = 100;
/** Shorter than the delay before the first retry, whose success tells the server that the receiver is back. */
const SECONDS_BEFORE = 3;

const { values } = parseArgs({ options: { waiting: { type: "string", default: "60000" } } });
const waiting = Number(values.waiting);

function print(what: string, times: readonly number[]): void {
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(times, share).toFixed(1));
  console.log(`${what}: p50 ${p50} ms, p99 ${p99} ms`);
}
const waits = (webhooks: readonly Arrival[]) => webhooks.map(({ settledAt, arrivedAt }) => arrivedAt - settledAt);

await withServer({ SETTLE_DELAY_MS: "2000" }, async (server, receiver) => {
  const pool = new Pool(server.url, { connections: 64 });
  await atRate(PER_SECOND, SECONDS, sender(pool, payout(receiver.url)));
  await pool.close();
  const delivered = waits(await arrivals(receiver, PER_SECOND * SECONDS));
  print(`settlement to delivery at ${PER_SECOND} payouts per second`, delivered);

  await load(server, AS_FAST_AS_POSSIBLE, payout(receiver.url));
  const times = sorted((await arrivals(receiver, AS_FAST_AS_POSSIBLE)).map(({ arrivedAt }) => arrivedAt));
  console.log(`webhooks per second: ${((times.length * 1_000) / (times.at(-1)! - times[0]!)).toFixed(0)}`);

  const silent = await serve(() => undefined);
  await load(server, 1_000, payout(silent.url));
  await load(server, 1_000, payout(receiver.url));
  print("settlement to delivery beside a receiver that does not respond", waits(await arrivals(receiver, 1_000)));
  await silent.close();
});

await withServer({ SETTLE_DELAY_MS: "0" }, async (server, receiver) => {
  const pool = new Pool(server.url, { connections: 16 });
  const create = sender(pool, payout());
  await fetch(`${receiver.url}/down`, { method: "PUT" });
  await load(server, waiting, payout(receiver.url));
  print("creates while the receiver is down", await atRate(CREATES_PER_SECOND, SECONDS_BEFORE, create));

  await fetch(`${receiver.url}/up`, { method: "PUT" });
  const up = Date.now();
  let hasCaughtUp = false;
  const arriving = arrivals(receiver, waiting).finally(() => (hasCaughtUp = true));
  print("creates while the receiver catches up", await atRate(CREATES_PER_SECOND, Infinity, create, () => hasCaughtUp));
  const times = sorted((await arriving).map(({ arrivedAt }) => arrivedAt));
  const [first, last] = [times[0]! - up, times.at(-1)! - up];
  console.log(
    `${times.length} waiting webhooks: the first after ${(first / 1_000).toFixed(1)} s, ` +
      `all within ${(last / 1_000).toFixed(1)} s, ${((times.length * 1_000) / (last - first)).toFixed(0)} per second`,
  );
  await pool.close();
});
