// Makes traffic as merchants' programs do, and collects what a watch in front of the service and of the receiver sees.
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { pipeline, Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type DisbursementRequest } from "../../client/index.ts";
import type { Running } from "../broken/server.ts";
import { commonPairs, payeeIn } from "../generate/countries.ts";
import { createRandom, pick, type Random } from "../generate/random.ts";
import { listen } from "../model/server.ts";
import { forwardTcp } from "../watch/forward.ts";
import { createRecorder } from "../watch/recorded.ts";
import type { Listener, Seen } from "../watch/traffic.ts";

/** A service and a receiver of webhooks with a watch in front of each, and what the watch has seen. */
export type Stage = Awaited<ReturnType<typeof startStage>>;

/** Starts a network that breaks some connections, and so loses the requests and responses that they carry. */
async function startNetwork(target: string, random: Random) {
  const carried = () =>
    new Transform({
      transform: (chunk, _, pass) => pass(random(1, 100) <= 3 ? new Error("The connection breaks.") : null, chunk),
    });
  const { hostname, port } = new URL(target);
  const server = createServer((caller) => {
    pipeline(caller, carried(), connect(Number(port), hostname), carried(), caller, () => undefined);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port: own } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${own}`, stop: () => server[Symbol.asyncDispose]() };
}

/** Forwards as `certify watch` does, but without a process of its own for the judge. */
function tap(kind: "exchange" | "webhook", target: string, listener: Listener) {
  const record = createRecorder(listener, target);
  const route = { kind, listen: { host: "127.0.0.1", port: 0 }, target: new URL(target) };
  return forwardTcp(
    route,
    (line) => record("a connection", line),
    () => undefined,
  );
}

/** Starts a service, and a receiver that fails at the first attempt of some webhooks. */
export async function startStage(start: () => Promise<Running>, seed: number) {
  const seen: Seen[] = [];
  const missed: string[] = [];
  const listener: Listener = { see: (each) => void seen.push(each), missed: (reason) => void missed.push(reason) };
  const attempted = new Set<unknown>();
  const receiver = await listen(async ({ path, headers }, _request, response) => {
    const isFirst = !attempted.has(headers["webhook-id"]);
    attempted.add(headers["webhook-id"]);
    response.writeHead(path.startsWith("/flaky") && isFirst ? 500 : 204).end();
  });
  const hooks = await tap("webhook", receiver.url, listener);
  const service = await start();
  const behind = await startNetwork(service.url, createRandom(seed, "network behind the watch"));
  const door = await tap("exchange", behind.url, listener);
  const network = await startNetwork(door.url, createRandom(seed, "network in front of the watch"));
  return {
    seen,
    missed,
    key: service.key,
    secondKey: service.secondKey,
    /** The service as callers see it, and the receiver as the service sees it. */
    url: network.url,
    hooks: hooks.url,
    async stop() {
      door.cut();
      await service.stop();
      hooks.cut();
      await receiver.stop();
      await Promise.all([network, door, behind, hooks].map((each) => each.stop()));
    },
  };
}

/** Last digits that force an outcome in a sandbox: failures, immediate ones, and a payout that stays pending. */
const forced = ["089", "089", "002", "001", "601", "129"] as const;

/** Returns payouts as merchants make them: of several countries and sizes, some to one recipient, with references of their own styles. */
export function payoutsFor(hooks: string, random: Random, count: number): DisbursementRequest[] {
  const payees = Array.from({ length: count }, () =>
    payeeIn(pick(random, commonPairs), { recipient: "", assumed: ["recipient"] }, random),
  );
  return payees.map((each, index) => {
    const payee = index % 8 === 6 ? payees[index - 3]! : each;
    const digits = index % 4 === 1 ? forced[Math.floor(index / 4) % forced.length]! : payee.phoneNumber.slice(-3);
    const name = `${random(0, 2 ** 40).toString(36)}-${index}`;
    return {
      reference: pick(random, [`salary-${name}`, `INV/2026/${name}`, `Prime "mars" ${name}`, `avance é ${name}`]),
      amount: pick(random, [100, 12_345, 1_500_000, random(1, 9_000_000)]),
      ...payee,
      phoneNumber: payee.phoneNumber.slice(0, -3) + digits,
      ...(index % 8 < 7 && { webhookURL: `${hooks}/${index % 6 === 0 ? "flaky" : "hooks"}/${index % 3}?shop=7` }),
    };
  });
}

export type Size = {
  payouts: number;
  /** The times of the acts, in milliseconds: when payouts are final, old, and when retried webhooks have come. */
  finalMs: number;
  oldMs: number;
  retriedMs: number;
};

/** Runs `work` for all at once. What fails, for example because responses got lost, stays undone. */
const forAll = <T>(all: readonly T[], work: (each: T, index: number) => Promise<unknown>) =>
  Promise.allSettled(all.map(work));

/** Two merchants create payouts and checkouts, read them, and repeat creates. Customers answer the checkouts. */
export async function makeTraffic(stage: Stage, seed: number, { payouts, finalMs, oldMs, retriedMs }: Size) {
  const { url, key, secondKey, hooks } = stage;
  const random = createRandom(seed, "traffic");
  const retry = { minDelay: 5, maxDelay: 50, totalTime: 10_000 };
  const clientOf = (apiKey: string) => createClient({ baseUrl: url, apiKey, timeout: 10_000, retry });
  const [client, other] = [clientOf(key), clientOf(secondKey)];
  const entries = payoutsFor(hooks, random, payouts);
  const shops = [client.disbursements, other.disbursements, client.checkouts].map((shop) => ({
    shop,
    references: [] as string[],
  }));
  const [own, others, checkouts] = shops.map(({ references }) => references) as [string[], string[], string[]];

  await forAll(entries, async (entry, index) => {
    const pay = () => client.disbursements.create(entry, { ifExists: "return" });
    // Some payrolls run twice at the same time.
    const [{ reference }] = await Promise.all([pay(), ...(index % 10 === 4 ? [pay()] : [])]);
    own.push(reference);
    await client.disbursements.verify(reference);
  });
  // The other merchant uses the same references for other payouts.
  await forAll(payoutsFor(hooks, random, 5), async (entry, index) => {
    const { reference } = await other.disbursements.create({ ...entry, reference: entries[index]!.reference });
    others.push(reference);
    await other.disbursements.verify(reference);
    // Somebody who has the keys of both merchants looks for a payout with the wrong one.
    await other.disbursements.verify(own[index]!);
  });
  await forAll(payoutsFor(hooks, random, 8), async ({ phoneNumber, ...order }, index) => {
    const { reference } = await client.checkouts.create({ ...order, redirectURL: "https://shop.example/thanks" });
    checkouts.push(reference);
    await client.checkouts.verify(reference);
    const body = new URLSearchParams({ phoneNumber, action: index % 3 === 2 ? "cancel" : "pay" });
    await fetch(`${url}/checkouts/${reference}`, { method: "POST", body, redirect: "manual" });
  });

  const readAll = () =>
    forAll(shops, async ({ shop, references }) => {
      await forAll(references, (reference) => shop.verify(reference));
      // A broken list has no end.
      const listed: unknown[] = [];
      for await (const each of shop.list()) if (listed.push(each) > 10 * payouts) break;
    });
  await sleep(finalMs);
  await readAll();
  await sleep(oldMs);
  // Callers repeat what they paid, also by mistake with another amount, and look for it.
  await forAll(entries, async (entry, index) => {
    if (index % 3 === 0) await client.disbursements.create(entry, { ifExists: "return" });
    if (index % 9 === 4) await client.disbursements.create({ ...entry, amount: entry.amount + 1 }).catch(() => 0);
    if (index % 7 === 0) await client.disbursements.find(entry.reference);
  });
  await readAll();
  await sleep(retriedMs);
  await readAll();
  // Webhooks may come late on a busy machine.
  for (let before = -1; before < stage.seen.length; await sleep(500)) before = stage.seen.length;
}
