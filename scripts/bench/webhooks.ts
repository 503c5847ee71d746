import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { load, payout } from "./load.ts";
import type { Target } from "./target.ts";

interface Arrival {
  settledAt: number;
  arrivedAt: number;
}

/** Waits until the receiver has recorded this many arrivals and returns them. */
async function arrivalsAt(receiver: Target, expected: number): Promise<Arrival[]> {
  const arrivals: Arrival[] = [];
  for (let waited = 0; arrivals.length < expected; waited += 50) {
    if (waited > 60_000) throw new Error(`only ${arrivals.length} of ${expected} webhooks arrived within a minute`);
    await sleep(50);
    arrivals.push(...((await (await fetch(receiver.url)).json()) as Arrival[]));
  }
  return arrivals;
}

const percentile = (sorted: number[], share: number): number => sorted[Math.ceil(sorted.length * share) - 1]!;

function waits(arrivals: Arrival[]): { p50: number; p99: number } {
  const sorted = arrivals.map(({ settledAt, arrivedAt }) => arrivedAt - settledAt).toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** Creates payouts at a constant rate. Returns the delay from settlement to arrival of the webhook, in milliseconds. */
export async function settlementToDelivery(server: Target, receiver: Target, perSecond: number, seconds: number) {
  const start = performance.now();
  const count = perSecond * seconds;
  const sent: Promise<unknown>[] = [];
  while (sent.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - start) / 1_000) * perSecond));
    while (sent.length < due) sent.push(load(server, 1, payout(receiver.url)));
    await sleep(5);
  }
  await Promise.all(sent);
  return waits(await arrivalsAt(receiver, count));
}

/** Creates payouts as fast as possible. Returns webhooks per second between the first and the last arrival. */
export async function deliveriesPerSecond(server: Target, receiver: Target, count: number): Promise<number> {
  await load(server, count, payout(receiver.url));
  const times = (await arrivalsAt(receiver, count)).map(({ arrivedAt }) => arrivedAt);
  return (count * 1_000) / (times.reduce((a, b) => Math.max(a, b)) - times.reduce((a, b) => Math.min(a, b)));
}

/** Sends 1,000 webhooks to an unresponsive receiver, then 1,000 to a responsive one. Returns the delay of the latter in ms. */
export async function besideSilentReceiver(server: Target, receiver: Target): Promise<{ p99: number }> {
  const silent = createServer(() => {});
  await once(silent.listen(0, "127.0.0.1"), "listening");
  await load(server, 1_000, payout(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`));
  await load(server, 1_000, payout(receiver.url));
  const { p99 } = waits(await arrivalsAt(receiver, 1_000));
  silent.closeAllConnections();
  silent.close();
  return { p99 };
}
