// Receivers in every framework, with events that the tests sign.
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { serve } from "../../server/testing/http.ts";
import { rejectionOf } from "../testing/fakes.ts";
import { receiveWebhooks as receiveExpress } from "./express.ts";
import { receiveWebhooks as receiveFastify } from "./fastify.ts";
import { receiveWebhooks as receiveFetch } from "./fetch.ts";
import { receiveWebhooks as receiveHono } from "./hono.ts";
import { memoryStore } from "./receiver.ts";
import type { EventStore, ReceiverOptions } from "./receiver.ts";
import { signWebhook, UsageError } from "./webhooks.ts";
import type { WebhookEvent } from "./webhooks.ts";

interface Running {
  /** Receives webhooks. */
  url: string;
  /** Behind a JSON body parser, a mistake that the receiver must report. */
  parsedUrl: string;
  stop(): Promise<void>;
}

type Start = (options: ReceiverOptions) => Promise<Running>;

const receivers: Record<string, Start> = {
  async Express(options) {
    const app = express();
    app.post("/webhooks", receiveExpress(options));
    app.post("/parsed", express.json({ type: "*/*" }), receiveExpress(options));
    // These keep the raw body.
    app.post("/raw", express.raw({ type: "*/*" }), receiveExpress(options));
    app.post("/text", express.text({ type: "*/*" }), receiveExpress(options));
    return listen(app);
  },

  async Fastify(options) {
    const app = fastify({ forceCloseConnections: true });
    app.register(receiveFastify(options), { prefix: "/webhooks" });
    app.register(
      async (scope) => {
        scope.addHook("preParsing", async (request, _, payload) => {
          await textOf(payload);
          return request.raw;
        });
        scope.register(receiveFastify(options));
      },
      { prefix: "/parsed" },
    );
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url: `${origin}/webhooks`, parsedUrl: `${origin}/parsed`, stop: () => app.close() };
  },

  async Hono(options) {
    const app = new Hono();
    app.post("/webhooks", receiveHono(options));
    app.use("/parsed", async (context, next) => {
      await context.req.json();
      await next();
    });
    app.post("/parsed", receiveHono(options));
    return listen(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  },

  async fetch(options) {
    const receive = receiveFetch(options);
    const parsed = async (request: Request) => {
      await request.json();
      return receive(request);
    };
    const route = (request: Request) => (new URL(request.url).pathname === "/webhooks" ? receive : parsed)(request);
    return listen(getRequestListener(route, { overrideGlobalObjects: false }));
  },
};

async function listen(handle: RequestListener): Promise<Running> {
  const { url, close } = await serve(handle);
  return { url: `${url}/webhooks`, parsedUrl: `${url}/parsed`, stop: close };
}

const secrets = ["current", "previous"].map((text) => `whsec_${btoa(`the ${text} secret`)}`);
const foreignSecret = `whsec_${btoa("a secret of another merchant")}`;

const sample = { event: "disbursement.completed", data: { reference: "DSB1" } };
const text = JSON.stringify(sample);

/** Delivers a signed event, with changes. */
const deliver = async (url: string, change: object = {}, secret = secrets[0]!, event = text) => {
  const { headers, body } = { ...(await signWebhook(event, secret, { id: "msg_1" })), ...change };
  const response = await fetch(url, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe.each(Object.keys(receivers))("%s", (framework) => {
  let handled: WebhookEvent[];
  let errors: unknown[];
  let stop = async () => {};
  /** Starts a receiver with these options. */
  async function start(options: Partial<ReceiverOptions> = {}) {
    const onEvent = (event: WebhookEvent) => handled.push(event);
    const onError = (error: unknown) => errors.push(error);
    const running = await receivers[framework]!({ secret: secrets, onEvent, onError, ...options });
    stop = running.stop;
    return running;
  }
  beforeEach(() => void ([handled, errors] = [[], []]));
  afterEach(async () => {
    await stop();
    stop = async () => {};
  });

  test("refuses forged and stale webhooks with 400", async () => {
    const { url } = await start();
    const { headers } = await signWebhook(text, secrets[0]!, { id: "msg_1" });
    const stale = await signWebhook(text, secrets[0]!, { now: Date.now() - 301_000 });
    expect((await deliver(url, {}, foreignSecret)).status).toBe(400);
    for (const change of [
      { body: JSON.stringify({ ...sample, event: "disbursement.failed" }) },
      { headers: { ...headers, "webhook-id": "msg_2" } },
      { headers: {} },
      { body: "" },
      stale,
    ])
      expect((await deliver(url, change)).status).toBe(400);
    expect(handled).toEqual([]);
    // Each reason once: anybody can send such requests.
    expect(errors.map(String)).toEqual([
      "WebhookError: No signature matches: check the secret, and pass the body unchanged.",
      "WebhookError: Header webhook-id, webhook-timestamp or webhook-signature is missing.",
      "WebhookError: webhook-timestamp is not within the tolerance.",
    ]);
    expect((await deliver(url)).status).toBe(204);
  });

  test("accepts an older webhook within the tolerance", async () => {
    const { url } = await start({ tolerance: 600 });
    const ofAge = (seconds: number) => signWebhook(text, secrets[0]!, { now: Date.now() - seconds * 1000 });
    expect((await deliver(url, await ofAge(599))).status).toBe(204);
    expect((await deliver(url, await ofAge(602))).status).toBe(400);
  });

  test("refuses a request without a body as one without an event", async () => {
    const { url } = await start();
    const { "content-type": _, ...headers } = (await signWebhook("", secrets[0]!)).headers;
    const response = await fetch(url, { method: "POST", headers });
    expect([response.status, await response.text()]).toEqual([400, "The body is not an event."]);
  });

  test("drops a captured webhook that is sent again", async () => {
    const { url } = await start();
    for (const _ of [1, 2]) expect(await deliver(url)).toMatchObject({ status: 204, text: "" });
    expect(handled).toHaveLength(1);
  });

  test("returns 503 with Retry-After while another request handles the event", async () => {
    const gate = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const onEvent = (event: WebhookEvent) => {
      handled.push(event);
      began.resolve();
      return gate.promise;
    };
    const { url } = await start({ onEvent });
    const first = deliver(url);
    await began.promise;
    const second = await deliver(url);
    expect([second.status, second.text]).toEqual([503, "The event is being handled."]);
    expect(second.headers.get("retry-after")).toBe("5");
    gate.resolve();
    expect((await first).status).toBe(204);
    expect((await deliver(url)).status).toBe(204);
    expect(handled).toHaveLength(1);
  });

  test("returns 413 for a body above the limit, whether or not its length is declared", async () => {
    const { url } = await start({ maxBytes: 1000 });
    const [whole, over] = [1000, 1001].map((length) => JSON.stringify({ ...sample, note: "" }).padEnd(length));
    expect((await deliver(url, {}, secrets[0], whole)).status).toBe(204);
    const refused = await deliver(url, {}, secrets[0], over);
    expect([refused.status, refused.text]).toEqual([413, "The body is larger than 1000 bytes."]);
    expect(refused.headers.get("connection")).toBe("close");
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) });
    const { headers } = await signWebhook(text, secrets[0]!);
    const response = await fetch(url, { method: "POST", headers, body: endless, duplex: "half" } as RequestInit);
    expect(response.status).toBe(413);
    expect(handled).toHaveLength(1);
  });

  test.each([
    ["an unset secret", undefined, /not set/],
    ["an empty list of secrets", [], /not set/],
    ["a malformed secret", "whsec_????", /whsec_ followed by base64/],
  ])("is not made with %s; a function that returns it gets 500 and a UsageError", async (_, given, message) => {
    const secret = given as string;
    expect(String(await rejectionOf(start({ secret })))).toMatch(message);
    const { url } = await start({ secret: () => secret });
    const response = await deliver(url);
    expect(response.status).toBe(500);
    expect(errors).toEqual([expect.any(UsageError)]);
    expect(String(errors[0])).toMatch(message);
    expect(response.text + String(errors[0])).not.toContain("????");
    expect((await deliver(url, { headers: {} })).status).toBe(500);
  });

  test("returns 500 behind a body parser, and says what to change", async () => {
    const { parsedUrl } = await start();
    expect((await deliver(parsedUrl)).status).toBe(500);
    expect(errors).toEqual([expect.any(UsageError)]);
    expect(String(errors[0])).toMatch(/raw body was already read.*body parsers/);
    expect(handled).toEqual([]);
  });

  test("takes a secret from a function, and another store", async () => {
    const calls: string[] = [];
    const memory = memoryStore();
    const store: EventStore = {
      claim: async (id) => (calls.push(`claim ${id}`), memory.claim(id)),
      done: async (id) => (calls.push(`done ${id}`), memory.done(id)),
      release: async (id) => (calls.push(`release ${id}`), memory.release(id)),
    };
    let fails = true;
    const onEvent = () => {
      if (fails) throw new Error("not yet");
    };
    const { url } = await start({ secret: async () => secrets, store, onEvent });
    expect((await deliver(url)).status).toBe(500);
    fails = false;
    expect((await deliver(url)).status).toBe(204);
    expect(calls).toEqual(["claim msg_1", "release msg_1", "claim msg_1", "done msg_1"]);
  });

  test("logs the error behind a 500 to the console by default", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const { url } = await start({ onEvent, onError: undefined as never });
    expect(await deliver(url)).toMatchObject({ status: 500, text: "The webhook could not be handled." });
    expect(log.mock.calls).toEqual([[failure]]);
    log.mockRestore();
  });

  const noStore = new Error("no store");
  const broken = () => Promise.reject(noStore);
  const failure = new Error("the database is down");
  const onEvent = () => Promise.reject(failure);
  test.each<[string, Partial<ReceiverOptions>, number, number, unknown[]]>([
    ["claim", { store: { ...memoryStore(), claim: broken } }, 500, 0, [noStore]],
    ["record the end", { store: { ...memoryStore(), done: broken } }, 204, 1, [noStore]],
    ["give a claim back", { store: { ...memoryStore(), release: broken }, onEvent }, 500, 0, [noStore, failure]],
  ])("reports a store that cannot %s", async (_, options, status, count, reported) => {
    const { url } = await start(options);
    expect((await deliver(url)).status).toBe(status);
    expect([handled.length, errors]).toEqual([count, reported]);
  });
});

describe("Express", () => {
  const start = (options: Partial<ReceiverOptions>) =>
    receivers["Express"]!({ secret: secrets, onEvent: () => {}, ...options });

  test.each(["raw", "text"])("accepts the raw body that express.%s kept", async (parser) => {
    const handled: unknown[] = [];
    const { url, stop } = await start({ onEvent: (event) => handled.push(event) });
    expect((await deliver(new URL(parser, url).href)).status).toBe(204);
    expect(handled).toEqual([sample]);
    await stop();
  });

  test("reports a request that breaks off like every other reason for a 400", async () => {
    const reported = Promise.withResolvers<unknown>();
    const { url, stop } = await start({ onError: reported.resolve });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf", () => socket.destroy());
    expect(String(await reported.promise)).toBe("WebhookError: The body is incomplete.");
    await stop();
  });
});

test("Fastify receives at the root if the plugin has no prefix", async () => {
  const app = fastify();
  app.register(receiveFastify({ secret: secrets, onEvent: () => {} }));
  const { headers, body } = await signWebhook(text, secrets[0]!);
  expect((await app.inject({ method: "POST", url: "/", headers, body })).statusCode).toBe(204);
  await app.close();
});

test("memoryStore forgets the oldest handled event above its size, and never one that is being handled", () => {
  const store = memoryStore(2);
  for (const id of ["busy", "a", "b", "c"]) expect(store.claim(id)).toBe("claimed");
  for (const id of ["a", "b", "c"]) void store.done(id);
  expect(["busy", "b", "c", "a"].map((id) => store.claim(id))).toEqual(["busy", "done", "done", "claimed"]);
});
