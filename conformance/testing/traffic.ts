// Makes traffic as several callers do, and returns what a watch in front of the service and of the receiver sees of it.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type DisbursementRequest } from "../../client/index.ts";
import { without } from "../broken/calls.ts";
import type { Running } from "../broken/server.ts";
import { commonPairs, payeeIn } from "../generate/countries.ts";
import { createRandom, pick, type Random } from "../generate/random.ts";
import { listen } from "../model/server.ts";
import { forwardTcp } from "../watch/forward.ts";
import { createHttpStream } from "../watch/http-stream.ts";
import type { Exchange, Seen } from "../watch/traffic.ts";

/** A service and a receiver of webhooks with a watch in front of each, and what the watch has seen. */
export type Stage = Awaited<ReturnType<typeof startStage>>;

/** Forwards as `certify watch` does, but without a process of its own for the judge. */
function tap(target: string, see: (exchange: Exchange) => void, missed: (reason: string) => void) {
  const open = () => createHttpStream(see, missed);
  return forwardTcp({ listen: { host: "127.0.0.1", port: 0 }, target: new URL(target) }, open, () => undefined);
}

/** Starts a network between callers and a service that loses some requests and some responses. */
function lossyNetwork(target: string, random: Random) {
  return listen(async ({ method, path, headers, body }, _request, response) => {
    const fate = random(1, 100);
    if (fate <= 3) return void response.destroy();
    const { host: _, connection: _connection, "content-length": _length, ...others } = headers;
    const sent = { method, headers: others as Record<string, string>, redirect: "manual" as const };
    const reply = await fetch(target + path, { ...sent, ...(body.length > 0 && { body: new Uint8Array(body) }) });
    const text = Buffer.from(await reply.arrayBuffer());
    if (fate <= 8) return void response.destroy();
    const { "content-encoding": _coding, "transfer-encoding": _transfer, ...shown } = Object.fromEntries(reply.headers);
    response.writeHead(reply.status, { ...shown, "content-length": text.length }).end(text);
  });
}

export async function startStage(start: () => Promise<Running>, seed: number) {
  const seen: Seen[] = [];
  const missed: string[] = [];
  const attempted = new Set<unknown>();
  const service = await start();
  const receiver = await listen(async ({ path, headers }, _request, response) => {
    const isFirst = !attempted.has(headers["webhook-id"]);
    attempted.add(headers["webhook-id"]);
    response.writeHead(path.startsWith("/flaky") && isFirst ? 500 : 204).end();
  });
  const miss = (reason: string) => void missed.push(reason);
  const door = await tap(service.url, (exchange) => void seen.push(exchange), miss);
  const notified = ({ sentAt, path, headers, body, response }: Exchange) =>
    void seen.push({ kind: "webhook", sentAt, path, headers, body, ...(response && { status: response.status }) });
  const hooks = await tap(receiver.url, notified, miss);
  const network = await lossyNetwork(door.url, createRandom(seed, "network"));
  return {
    seen,
    missed,
    key: service.key,
    secondKey: service.secondKey,
    /** The service as callers see it: through a network with losses, or without them. */
    url: network.url,
    direct: door.url,
    /** The receiver as the service sees it. */
    hooks: hooks.url,
    async stop() {
      await network.stop();
      door.cut();
      await service.stop();
      hooks.cut();
      await receiver.stop();
      await Promise.all([door.stop(), hooks.stop()]);
    },
  };
}

/** Last digits that force an outcome in a sandbox: failures, immediate ones, and a payout that stays pending. */
const forced = ["089", "089", "002", "001", "601", "129"] as const;

/** Returns payouts as merchants make them: of several countries and sizes, with references of their own styles. */
export function payoutsFor(hooks: string, random: Random, count: number): DisbursementRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const payee = payeeIn(pick(random, commonPairs), { recipient: "", assumed: ["recipient"] }, random);
    const digits = index % 4 === 1 ? forced[Math.floor(index / 4) % forced.length]! : payee.phoneNumber.slice(-3);
    const name = `${random(0, 2 ** 40).toString(36)}-${index}`;
    const styles = [`salary-${name}`, `INV/2026/${name}`, `Prime "mars" ${name}`, `avance é ${name}`] as const;
    return {
      reference: styles[index % 3 === 0 ? index % 4 : 0]!,
      amount: pick(random, [100, 12_345, 1_500_000, 333, random(1, 9_000_000)]),
      ...payee,
      phoneNumber: payee.phoneNumber.slice(0, -3) + digits,
      ...(index % 8 === 7
        ? {}
        : { webhookURL: `${hooks}${index % 6 === 0 ? "/flaky" : "/hooks"}/${index % 3}?shop=7` }),
    };
  });
}

const ignore = () => undefined;
type Sent = { method?: string; key?: string | undefined; body?: unknown; headers?: Record<string, string> };
type Read = { status: number; data: Record<string, unknown> };

/** Sends a request as a script does, without retries. Returns undefined if there was no response in JSON. */
async function send(url: string, { method = "GET", key, body, headers }: Sent): Promise<Read | undefined> {
  const given = { ...(key === undefined ? {} : { "x-api-key": key }), "content-type": "application/json", ...headers };
  const text = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const limits = { redirect: "manual", signal: AbortSignal.timeout(5000) } as const;
  try {
    const response = await fetch(url, { method, headers: given, ...text, ...limits });
    const { data } = (await response.json()) as { data?: Read["data"] };
    return { status: response.status, data: data ?? {} };
  } catch {
    return undefined;
  }
}

const inParallel = async <T>(all: readonly T[], work: (each: T, index: number) => Promise<unknown>) => {
  const left = [...all.entries()];
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) await work(next[1], next[0]).catch(ignore);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
};

/** Mistakes of developers, each repeated with what is right under the same reference. */
const mistakes: ((right: DisbursementRequest) => unknown)[] = [
  ...["amount", "phoneNumber", "reference", "country", "currency"].map(
    (name) => (right: DisbursementRequest) => without({ ...right }, name),
  ),
  (right) => ({ ...right, amount: String(right.amount) }),
  (right) => ({ ...right, amount: 15.5 }),
  (right) => ({ ...right, amount: 0 }),
  (right) => ({ ...right, amount: -right.amount }),
  (right) => ({ ...right, phoneNumber: `+${right.phoneNumber}` }),
  (right) => ({ ...right, phoneNumber: right.phoneNumber.slice(3, 12).slice(0, 9) }),
  (right) => ({ ...right, phoneNumber: Number(right.phoneNumber) }),
  (right) => ({ ...right, country: right.country.toLowerCase() }),
  (right) => ({ ...right, country: "CIV" }),
  (right) => ({ ...right, currency: "FCFA" }),
  (right) => ({ ...right, currency: right.currency.toLowerCase() }),
  (right) => ({ ...right, reference: "" }),
  (right) => ({ ...right, webhookURL: "shop.example/hooks" }),
  (right) => [right],
  (right) => JSON.stringify(right).slice(0, -1),
  () => "",
];

async function makeMistakes({ direct, key, hooks }: Stage, random: Random) {
  const url = `${direct}/v1/disbursements`;
  await inParallel(payoutsFor(hooks, random, mistakes.length), async (right, index) => {
    await send(url, { method: "POST", key, body: mistakes[index]!(right) });
    await send(url, { method: "POST", key, body: right });
  });
  const [body] = payoutsFor(hooks, random, 1);
  for (const wrong of [{}, { key: "not-a-key-of-anybody" }, { headers: { authorization: `Bearer ${key}` } }]) {
    await send(url, { method: "POST", body, ...wrong });
    await send(url, wrong);
    await send(`${direct}/v1/checkouts`, {
      method: "POST",
      body: { amount: 100, country: "CI", currency: "XOF" },
      ...wrong,
    });
  }
  await send(`${direct}/v1/payouts`, { key });
  await send(url, { method: "DELETE", key });
  await send(`${url}/DSB000000000000000000000`, { key });
  await send(url, { method: "POST", key, body, headers: { "content-type": "text/plain" } });
}

/** Creates checkouts, and pays, abandons or cancels them as customers do. */
async function checkOut({ url, direct, key, hooks }: Stage, random: Random) {
  const client = createClient({ baseUrl: url, apiKey: key, retry: { minDelay: 5, maxDelay: 50, totalTime: 3000 } });
  const orders = payoutsFor(hooks, random, 8);
  const references: string[] = [];
  await inParallel(orders, async ({ phoneNumber, reference, ...rest }, index) => {
    const order = {
      ...rest,
      ...(index < 6 ? { reference } : {}),
      redirectURL: `https://shop.example/thanks?order=${index}`,
    };
    const created = await client.checkouts.create(order);
    references.push(created.reference);
    await client.checkouts.verify(created.reference).catch(ignore);
    await send(`${direct}/v1/checkouts`, { method: "POST", key, body: order });
    const page = `${direct}/checkouts/${created.reference}`;
    await send(page, {});
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const answer = ["action=pay", "action=pay", "action=cancel", undefined][index % 4];
    if (answer) await send(page, { method: "POST", headers: form, body: `phoneNumber=${phoneNumber}&${answer}` });
    await client.checkouts.verify(created.reference).catch(ignore);
  });
  return references;
}

export type Size = {
  payouts: number;
  /** The times of the acts, in milliseconds: when payouts are final, old, and when retried webhooks have come. */
  finalMs: number;
  oldMs: number;
  retriedMs: number;
};

/** Two merchants pay, read, repeat, list and check out; developers make mistakes. Requests and responses get lost. */
export async function makeTraffic(stage: Stage, seed: number, { payouts, finalMs, oldMs, retriedMs }: Size) {
  const { url, direct, key, secondKey, hooks } = stage;
  const random = createRandom(seed, "traffic");
  const retry = { minDelay: 5, maxDelay: 50, totalTime: 3000 };
  const client = createClient({ baseUrl: url, apiKey: key, timeout: 3000, retry });
  const other = createClient({ baseUrl: url, apiKey: secondKey, timeout: 3000, retry });
  const path = `${direct}/v1/disbursements`;
  const entries = payoutsFor(hooks, random, payouts);
  const references: string[] = [];

  await inParallel(entries, async (entry, index) => {
    if (index % 10 === 4) await Promise.all([entry, entry].map((body) => send(path, { method: "POST", key, body })));
    const { reference } = await client.disbursements.create(entry, { ifExists: "return" });
    references.push(reference);
    await client.disbursements.verify(reference);
  });
  const ofOther = payoutsFor(hooks, random, 5).map((entry, index) => ({
    ...entry,
    reference: entries[index]!.reference,
  }));
  await inParallel(ofOther, async (entry) => {
    const { reference } = await other.disbursements.create(entry);
    await other.disbursements.verify(reference);
    await client.disbursements.verify(reference);
  });
  const checkouts = await checkOut(stage, random);
  await makeMistakes(stage, random);

  async function readAll() {
    await inParallel(references, (reference) => client.disbursements.verify(reference));
    await inParallel(checkouts, (reference) => client.checkouts.verify(reference));
    await inParallel(references.slice(0, 3), (reference) => other.disbursements.verify(reference));
    for await (const _ of client.disbursements.list()) void _;
    for await (const _ of client.checkouts.list()) void _;
    for await (const _ of other.disbursements.list()) void _;
  }
  await sleep(finalMs);
  await readAll().catch(ignore);
  await sleep(oldMs);
  await inParallel(entries, async (entry, index) => {
    if (index % 3 === 0) await send(path, { method: "POST", key, body: entry });
    if (index % 9 === 4) await send(path, { method: "POST", key, body: { ...entry, amount: entry.amount + 1 } });
    if (index % 7 === 0) await client.disbursements.find(entry.reference);
  });
  await readAll().catch(ignore);
  await sleep(retriedMs);
  await readAll().catch(ignore);
  // Webhooks may come late on a busy machine.
  for (let before = -1; before < stage.seen.length; await sleep(500)) before = stage.seen.length;
}
