import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { serve } from "../testing/serve.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { runListener, type ListenerEvent } from "./listener.ts";
import { forwardTo, onlyEvents, respondWith, type Receiver } from "./receivers.ts";
import { createRemote, Unreachable, type Remote } from "./remote.ts";

/** The listener waits in real time. */
const clock = () => ({ ...createSystemClock(), advance: () => undefined, set: () => undefined });

let server: TestServer;
let folder: string;
let endings: (() => Promise<unknown>)[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "listener-"));
  endings = [];
  server = await start();
});
afterEach(async () => {
  for (const end of endings) await end();
  await server.close();
  rmSync(folder, { recursive: true });
});

const start = (env: Record<string, string> = {}, seed = 1) =>
  startServer({
    clock: clock(),
    seed,
    env,
    openStorage: (how) => openSqlite(join(folder, "server.db"), how),
  });

/** Starts the merchant's receiver, which responds with `respond`. */
async function startReceiver(
  respond: (response: ServerResponse) => void = (response) => response.writeHead(204).end(),
) {
  const received: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const { url, close } = await serve(async (request, response) => {
    received.push({ headers: request.headers, body: (await buffer(request)).toString() });
    respond(response);
  });
  endings.push(close);
  return { received, url: `${url}/hook` };
}

interface Running {
  told: ListenerEvent[];
  ended: Promise<"stopped" | "replaced">;
  /** Resolves when `count` attempts have been reported. */
  attempts(count: number): Promise<Extract<ListenerEvent, { type: "attempt" }>[]>;
  stop(): Promise<"stopped" | "replaced">;
}

/** Starts a listener and waits until it is connected. */
async function listen(receiver: Receiver, change: (remote: Remote) => Partial<Remote> = () => ({})): Promise<Running> {
  const told: ListenerEvent[] = [];
  const stopping = new AbortController();
  const remote = createRemote({ "base-url": server.url }, { API_KEY: server.key });
  const ended = runListener({
    remote: { ...remote, ...change(remote) },
    receiver,
    name: `listener ${endings.length}`,
    tell: (event) => told.push(event),
    stopping: stopping.signal,
  }).finally(receiver.close);
  const stop = () => {
    stopping.abort();
    return ended;
  };
  endings.push(() => stop().catch(() => undefined));
  await expect.poll(() => told.map(({ type }) => type)).toContain("connected");
  const attempts = () => told.filter((event) => event.type === "attempt");
  return {
    told,
    ended,
    stop,
    async attempts(count) {
      await expect.poll(() => attempts().length).toBeGreaterThanOrEqual(count);
      return attempts();
    },
  };
}

const pay = async () => (await server.createPayout({ phoneNumber: "2257038102001" })).body.data.reference as string;
const deliveries = async () => (await server.request("GET", "/sandbox/deliveries?limit=100")).body.data.items;

test("forwards the exact bytes with a valid signature, and the attempt is in the log", async () => {
  const receiver = await startReceiver();
  const listener = await listen(forwardTo(receiver.url));
  const reference = await pay();
  const [attempt] = await listener.attempts(1);
  const { secret } = (await server.request("GET", "/sandbox/webhook-secret")).body.data;
  const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ data: { reference } });
  expect(attempt).toMatchObject({ response: { httpStatus: 204 }, recorded: { counted: true, status: "delivered" } });
  expect(await deliveries()).toMatchObject([
    { reference, url: receiver.url, status: "delivered", attempts: [{ number: 1, httpStatus: 204 }] },
  ]);
  expect(await listener.stop()).toBe("stopped");
});

test("forwards the events that it is asked for; others count as delivered", async () => {
  const receiver = await startReceiver();
  const listener = await listen(onlyEvents(["disbursement.failed"], forwardTo(receiver.url)));
  await pay();
  await server.createPayout({ phoneNumber: "2257038102002" });
  await listener.attempts(2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).event)).toEqual(["disbursement.failed"]);
  expect((await deliveries()).map(({ status }: { status: string }) => status)).toEqual(["delivered", "delivered"]);
});

test.each([
  [respondWith({ status: 500 }), { httpStatus: 500 }, "pending"],
  [respondWith({ delayMs: 5 }), { httpStatus: 200, latencyMs: 5 }, "delivered"],
  [forwardTo("http://127.0.0.1:1/"), { error: expect.stringContaining("Nothing accepts connections") }, "pending"],
])("what a receiver responds decides what follows (%#)", async (receiver, response, status) => {
  const listener = await listen(receiver);
  await pay();
  expect(await listener.attempts(1)).toMatchObject([{ response, recorded: { counted: true, status } }]);
  expect(await deliveries()).toMatchObject([{ status, attempts: [response] }]);
});

test("events that are written while the server or the listener is away arrive after it is back", async () => {
  const receiver = await startReceiver();
  const first = await listen(forwardTo(receiver.url));
  await pay();
  await first.attempts(1);
  const { port, key } = server;
  await server.close();
  server = Object.assign(await start({ PORT: String(port) }, 2), { key });
  await server.request("POST", "/v1/disbursements", {
    key,
    body: { reference: "while-away", amount: 1, phoneNumber: "2257038102001", country: "CI", currency: "XOF" },
  });
  await first.attempts(2);
  expect(receiver.received).toHaveLength(2);
});

test("a second listener takes over; the first is told and ends", async () => {
  const [one, two] = [await startReceiver(), await startReceiver()];
  const first = await listen(forwardTo(one.url));
  const second = await listen(forwardTo(two.url));
  expect(await first.ended).toBe("replaced");
  expect(second.told[0]).toMatchObject({ type: "connected", replaced: expect.stringMatching(/^listener/) });
  await pay();
  await second.attempts(1);
  expect([one.received.length, two.received.length]).toEqual([0, 1]);
});

test("a stop finishes and reports the attempt in progress, and disconnects", async () => {
  const held: ServerResponse[] = [];
  const receiver = await startReceiver((response) => held.push(response));
  const listener = await listen(forwardTo(receiver.url));
  await pay();
  await expect.poll(() => held).toHaveLength(1);
  const stopped = listener.stop();
  held[0]!.writeHead(204).end();
  expect(await stopped).toBe("stopped");
  await pay();
  // The listener has disconnected, so the second event goes nowhere.
  expect(await deliveries()).toMatchObject([{ status: "delivered", attempts: { length: 1 } }]);
});

/** Loses the response to the first request to this path, after the server has handled it. */
const losing = (path: string) => (remote: Remote) => {
  let lost = false;
  return {
    async send(...request: Parameters<Remote["send"]>) {
      const response = (await remote.send(...request)) as { items: unknown[] };
      const isResponse = request[1] === path && (path !== "/sandbox/listener/claims" || response.items.length > 0);
      if (!isResponse || lost) return response;
      lost = true;
      throw new Unreachable("The connection was cut.");
    },
  };
};

test.each(["/sandbox/listener/attempts", "/sandbox/listener/claims", "/sandbox/listener"])(
  "a lost response of %s loses nothing and repeats no attempt",
  async (path) => {
    const receiver = await startReceiver();
    const listener = await listen(forwardTo(receiver.url), losing(path));
    await pay();
    await listener.attempts(1);
    expect(receiver.received).toHaveLength(1);
    expect(await deliveries()).toMatchObject([{ status: "delivered", attempts: { length: 1 } }]);
    expect(listener.told.filter(({ type }) => type === "lost")).toHaveLength(1);
  },
);

test("an invalid key ends the listener", async () => {
  const remote = createRemote({ "base-url": server.url }, { API_KEY: "wrong" });
  const options = {
    receiver: respondWith({}),
    name: "x",
    tell: () => undefined,
    stopping: new AbortController().signal,
  };
  await expect(runListener({ ...options, remote })).rejects.toThrow("This API key is not valid.");
});
