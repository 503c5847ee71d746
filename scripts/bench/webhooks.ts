// Measures webhooks: from a settlement to the delivery, also beside a receiver that does not respond, and how many are
// delivered per second. Usage: node scripts/bench/webhooks.ts
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { sqlite } from "./databases.ts";
import { API_KEY, atRate, load, payout, quantile, sender, sorted } from "./load.ts";
import { arrivals, startReceiver, startServer, type Arrival } from "./target.ts";

const PER_SECOND = 200;
const SECONDS = 10;
const AS_FAST_AS_POSSIBLE = 20_000;

const database = await sqlite();
const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: API_KEY, SETTLE_DELAY_MS: "2000" };
const server = await startServer("server", env);
const receiver = await startReceiver();

function print(what: string, times: readonly Arrival[]): void {
  const waits = sorted(times.map(({ settledAt, arrivedAt }) => arrivedAt - settledAt));
  console.log(`${what}: p50 ${quantile(waits, 0.5)} ms, p99 ${quantile(waits, 0.99)} ms`);
}

const pool = new Pool(server.url, { connections: 64 });
await atRate(PER_SECOND, SECONDS, sender(pool, payout(receiver.url)));
await pool.close();
print(`settlement to delivery at ${PER_SECOND} payouts per second`, await arrivals(receiver, PER_SECOND * SECONDS));

await load(server, AS_FAST_AS_POSSIBLE, payout(receiver.url));
const times = sorted((await arrivals(receiver, AS_FAST_AS_POSSIBLE)).map(({ arrivedAt }) => arrivedAt));
console.log(`webhooks per second: ${((times.length * 1_000) / (times.at(-1)! - times[0]!)).toFixed(0)}`);

const silent = createServer(() => undefined);
await once(silent.listen(0, "127.0.0.1"), "listening");
await load(server, 1_000, payout(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`));
await load(server, 1_000, payout(receiver.url));
print("settlement to delivery beside a receiver that does not respond", await arrivals(receiver, 1_000));
silent.closeAllConnections();
silent.close();

await Promise.all([server.stop(), receiver.stop()]);
await database.drop();
