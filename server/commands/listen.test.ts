import { statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { startReceiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { testFolder } from "../testing/resources.ts";
import { cursorFile, followEvents, forwardTo, type FollowProgress } from "./listen.ts";
import { createRemote, RemoteError, type Remote } from "./remote.ts";

let server: TestServer;
let folder: string;
beforeEach(async () => {
  folder = testFolder();
  server = await startServer();
  onTestFinished(server.close);
});

const remoteOf = (key = server.key) => createRemote({ baseUrl: server.url }, { API_KEY: key });
const cursor = (...what: string[]) => cursorFile({ XDG_STATE_HOME: folder }, server.url, ...what);
const pay = async (digits = "001") => {
  const { body } = await server.createPayout({ phoneNumber: `2257038102${digits}` });
  return body.data.reference as string;
};

type Options = Parameters<typeof followEvents>[0];
type Send = Options["send"];

/** Starts the merchant's receiver. */
async function aReceiver() {
  const { url, received, close } = await startReceiver();
  const receiver = forwardTo(url);
  onTestFinished(close);
  onTestFinished(receiver.close);
  const references = () => received.map(({ body }) => body.data.reference as string);
  return { send: receiver.send, received, references };
}

/** Follows the merchant's events, without pauses. */
function listen(send: Send, options: Partial<Options> = {}) {
  const told: FollowProgress[] = [];
  const stopping = new AbortController();
  const ended = followEvents({
    remote: remoteOf(),
    cursor: cursor(server.key),
    ...options,
    send,
    tell: (event) => told.push(event),
    sleep: () => nextTurn(),
    stopping: stopping.signal,
  });
  const stop = () => (stopping.abort(), ended);
  onTestFinished(() => stop().catch(() => undefined));
  const attempts = () => told.filter((event) => event.type === "attempt");
  return {
    told,
    ended,
    stop,
    connected: () => vi.waitUntil(() => told.some(({ type }) => type === "connected"), { timeout: 30_000 }),
    async attempts(count: number) {
      await vi.waitUntil(() => attempts().length >= count, { timeout: 30_000 });
      return attempts();
    },
  };
}

test("sends the bytes of the webhook, signed with the merchant's secrets, of every event", async () => {
  const { send, received } = await aReceiver();
  const listener = listen(send);
  await listener.connected();
  await server.request("POST", "/sandbox/webhook-secret/rotate");
  const { secret, previousSecrets } = (await server.request("GET", "/sandbox/webhook-secret")).body.data;
  const reference = await pay();
  await server.createPayout({ phoneNumber: "2257038102002", webhookURL: "http://127.0.0.1:1/" });
  const attempts = await listener.attempts(2);
  const [{ headers, text }] = received as [(typeof received)[0]];
  for (const each of [secret, previousSecrets[0].secret])
    expect(new Webhook(each).verify(text, headers as Record<string, string>)).toMatchObject({ data: { reference } });
  const { items } = await server.storage.listEvents({ merchantId: server.merchant.id, limit: 10 });
  expect(received.map((each) => each.text)).toEqual(items.map((each) => each.body).toReversed());
  expect(headers["webhook-id"]).toBe(items[1]!.id);
  expect(attempts[0]).toMatchObject({ attempt: 1, httpStatus: 204, status: "delivered" });
  await listener.stop();
});

test("begins with the next event, and then goes on where it ended, also after a reset", async () => {
  await pay();
  const { send, received } = await aReceiver();
  const first = listen(send);
  await first.connected();
  await first.stop();
  const missed = [await pay(), await pay("002"), await pay()];
  const second = listen(send);
  expect((await second.attempts(3)).map((attempt) => attempt.reference)).toEqual(missed);
  await server.request("POST", "/sandbox/reset");
  const reference = await pay();
  expect((await second.attempts(4)).at(-1)!.reference).toBe(reference);
  expect(received).toHaveLength(4);
  const { path } = cursor(server.key);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const other of [["another key"], [server.key, "http://another.example/"]])
    expect(cursor(...other).path).not.toBe(path);
});

test("sends only the events that it is asked for", async () => {
  const { send, received } = await aReceiver();
  const listener = listen(send, { wanted: ["disbursement.failed"] });
  await listener.connected();
  await pay();
  await pay("002");
  await listener.attempts(1);
  expect(received.map(({ body }) => body.event)).toEqual(["disbursement.failed"]);
});

const fail = (error: Error) => () => {
  throw error;
};
/** A receiver that responds with these statuses, then with 200. */
const responses =
  (...statuses: number[]): Send =>
  async () => ({ sentAt: 0, latencyMs: 1, httpStatus: statuses.shift() ?? 200 });
test.each([
  [responses(503, 302, 204), ["pending", "pending", "delivered"]],
  [responses(410), ["ended"]],
  [responses(500, 500, 500, 500, 500), ["pending", "pending", "pending", "pending", "exhausted"]],
])("what a receiver responds decides what follows (%#)", async (send, statuses) => {
  const listener = listen(send);
  await listener.connected();
  await pay();
  const attempts = await listener.attempts(statuses.length);
  expect(attempts.map(({ status }) => status)).toEqual(statuses);
  expect(attempts.map(({ nextInMs }) => nextInMs)).toEqual(
    [1_000, 2_000, 4_000, 8_000].slice(0, statuses.length - 1).concat(undefined as never),
  );
});

test("waits for a receiver that is down, however long", async () => {
  const down = forwardTo("http://127.0.0.1:1/");
  const { send, received } = await aReceiver();
  let attempts = 0;
  const listener = listen((webhook) => ((attempts += 1) > 20 ? send : down.send)(webhook));
  await listener.connected();
  await pay();
  const told = await listener.attempts(21);
  expect(told[19]).toMatchObject({
    attempt: 20,
    status: "pending",
    nextInMs: 30_000,
    error: expect.any(String),
  });
  expect([received.length, told[20]!.status]).toEqual([1, "delivered"]);
  await down.close();
});

test("every event arrives at least once and in order, through 50 cuts", async () => {
  const { send, references: arrived } = await aReceiver();
  let [operations, cuts] = [0, 0];
  /** Cuts every seventh operation, before or after it takes effect. */
  async function cut<T>(operation: () => Promise<T> | T, failure: () => T): Promise<T> {
    operations += 1;
    if (cuts === 50 || operations % 7 > 0) return operation();
    cuts += 1;
    if (cuts % 2 === 0) await operation();
    return failure();
  }
  const [remote, file] = [remoteOf(), cursor(server.key)];
  const killed = new Error("killed");
  const options = {
    remote: { ...remote, send: (...sent) => cut(() => remote.send(...sent), fail(new RemoteError("cut"))) } as Remote,
    cursor: file,
  };
  const cutting: Send = (webhook) =>
    cut(
      () => send(webhook),
      () => ({ sentAt: 0, latencyMs: 0, error: "The connection was cut." }),
    );
  const first = listen(send);
  await first.connected();
  await first.stop();
  const references: string[] = [];
  const paying = (async () => {
    while (references.length < 100) references.push(await pay());
  })();
  const isComplete = () => new Set(arrived()).size === 100;
  while (!isComplete()) {
    // A kill between the receiver's response and the cursor: the next start finds the cursor as it was.
    let writes = 0;
    const dying = { ...file, write: (id: string) => ((writes += 1) % 9 === 0 ? fail(killed)() : file.write(id)) };
    const listener = listen(cutting, { ...options, cursor: dying });
    await Promise.race([
      vi.waitUntil(isComplete, { timeout: 30_000 }),
      listener.ended.catch((error) => expect(error).toBe(killed)),
    ]);
  }
  await paying;
  expect([...new Set(arrived())]).toEqual(references);
  expect(cuts).toBe(50);
});

test("tells once that the connection is lost, and when it is back", async () => {
  const remote = remoteOf();
  let cuts = 3;
  const send: Remote["send"] = async (...sent) => {
    if (sent[1].startsWith("/sandbox/events") && (cuts -= 1) >= 0) throw new RemoteError("cut");
    return remote.send<never>(...sent);
  };
  const listener = listen(responses(), { remote: { ...remote, send } });
  await listener.connected();
  await pay();
  await listener.attempts(1);
  cuts = 2;
  await vi.waitUntil(() => listener.told.length === 5, { timeout: 30_000 });
  expect(listener.told.map(({ type }) => type)).toEqual(["lost", "connected", "attempt", "lost", "connected"]);
});

test("an invalid key ends it", async () => {
  await expect(listen(responses(), { remote: remoteOf("wrong") }).ended).rejects.toThrow("This API key is not valid.");
});
