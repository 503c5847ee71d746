// Receivers in every framework, with events that the tests sign.
import { once } from "node:events";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { receiveWebhooks } from "./express.ts";
import { receiveWebhooks as receiveFastify } from "./fastify.ts";
import { memoryStore } from "./receiver.ts";
import type { EventStore, ReceiverOptions } from "./receiver.ts";
import { rejectionOf } from "../testing/fakes.ts";
import { receivers } from "./receivers.ts";
import { signWebhook, UsageError } from "./webhooks.ts";
import type { WebhookEvent } from "./webhooks.ts";

const secrets = ["current", "previous"].map((text) => `whsec_${btoa(`the ${text} secret`)}`);
const foreignSecret = `whsec_${btoa("a secret of another merchant")}`;

const sample = { event: "disbursement.completed", data: { reference: "DSB1" } };

/** Delivers a signed event, with changes. */
const deliver = async (url: string, change: object = {}, secret = secrets[0]!, text = JSON.stringify(sample)) => {
  const { headers, body } = { ...(await signWebhook(text, secret, { id: "msg_1" })), ...change };
  const response = await fetch(url, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** An Express application with a receiver. `closed` is the first response that was ended. */
async function startExpress(...before: express.RequestHandler[]) {
  const handled: unknown[] = [];
  const errors: unknown[] = [];
  const closed = Promise.withResolvers<string>();
  const app = express();
  app.use((_, response, next) => {
    const end = response.end.bind(response) as (body: string) => typeof response;
    response.end = ((body: string) => {
      closed.resolve(`${response.statusCode} ${body}`);
      return end(body);
    }) as typeof response.end;
    next();
  });
  const onEvent = (event: WebhookEvent) => handled.push(event);
  app.post("/", ...before, receiveWebhooks({ secret: secrets, onEvent, onError: (error) => errors.push(error) }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, handled, errors, closed: closed.promise, stop };
}

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
    const { headers } = await signWebhook(JSON.stringify(sample), secrets[0]!, { id: "msg_1" });
    const stale = await signWebhook(JSON.stringify(sample), secrets[0]!, { now: Date.now() - 301_000 });
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
    const ages = [599, 602].map((seconds) =>
      signWebhook(JSON.stringify(sample), secrets[0]!, { now: Date.now() - seconds * 1000 }),
    );
    const statuses = [];
    for (const signed of ages) statuses.push((await deliver(url, await signed)).status);
    expect(statuses).toEqual([204, 400]);
  });

  test("refuses a request without a body as one without an event", async () => {
    const { url } = await start();
    const { "content-type": _, ...headers } = (await signWebhook("", secrets[0]!)).headers;
    const response = await fetch(url, { method: "POST", headers });
    expect([response.status, await response.text()]).toEqual([400, "The body is not an event."]);
  });

  test("drops a captured webhook that is sent again", async () => {
    const { url } = await start();
    const responses = [await deliver(url), await deliver(url)];
    expect(responses.map(({ status, text }) => [status, text])).toEqual([
      [204, ""],
      [204, ""],
    ]);
    expect(responses[0]!.headers.get("content-type")).toBeNull();
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
    const { headers } = await signWebhook(JSON.stringify(sample), secrets[0]!);
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
    const failure = new Error("the database is down");
    const onEvent = () => Promise.reject(failure);
    const { url } = await start({ onEvent, onError: undefined as never });
    const { status, text, headers } = await deliver(url);
    expect([status, text]).toEqual([500, "The webhook could not be handled."]);
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(log.mock.calls).toEqual([[failure]]);
    log.mockRestore();
  });

  test("reports the handler's error even if the claim cannot be given back", async () => {
    const [failure, noStore] = [new Error("the database is down"), new Error("no store")];
    const release = () => Promise.reject(noStore);
    const { url } = await start({ store: { ...memoryStore(), release }, onEvent: () => Promise.reject(failure) });
    expect((await deliver(url)).status).toBe(500);
    expect(errors).toEqual([noStore, failure]);
  });

  test("returns 500 if the store cannot claim, and 204 if only the end cannot be recorded", async () => {
    const noStore = new Error("no store");
    const broken = async () => {
      throw noStore;
    };
    const { url } = await start({ store: { ...memoryStore(), claim: broken } });
    expect((await deliver(url)).status).toBe(500);
    expect(handled).toEqual([]);
    await stop();
    const next = await start({ store: { ...memoryStore(), done: broken } });
    expect((await deliver(next.url)).status).toBe(204);
    expect(handled).toHaveLength(1);
    expect(errors).toEqual([noStore, noStore]);
  });
});

describe("Express", () => {
  test.each([
    ["express.raw", express.raw({ type: "*/*" })],
    ["express.text", express.text({ type: "*/*" })],
  ])("accepts the raw body that %s kept", async (_, parser) => {
    const { url, handled, stop } = await startExpress(parser);
    const signed = await signWebhook(JSON.stringify(sample), secrets[0]!);
    expect((await fetch(url, { method: "POST", ...signed })).status).toBe(204);
    expect(handled).toEqual([sample]);
    await stop();
  });

  test("reports a request that breaks off like every other reason for a 400", async () => {
    const { url, closed, errors, stop } = await startExpress();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf", () => socket.destroy());
    expect(await closed).toBe("400 The body is incomplete.");
    expect(errors.map(String)).toEqual(["WebhookError: The body is incomplete."]);
    await stop();
  });
});

test("Fastify receives at the root if the plugin has no prefix", async () => {
  const app = fastify();
  app.register(receiveFastify({ secret: secrets, onEvent: () => {} }));
  const { headers, body } = await signWebhook(JSON.stringify(sample), secrets[0]!);
  expect((await app.inject({ method: "POST", url: "/", headers, body })).statusCode).toBe(204);
  await app.close();
});

describe("memoryStore", () => {
  test("forgets the oldest handled event above its size, and never one that is being handled", () => {
    const store = memoryStore(2);
    for (const id of ["busy", "a", "b", "c"]) expect(store.claim(id)).toBe("claimed");
    for (const id of ["a", "b", "c"]) void store.done(id);
    expect(["busy", "b", "c", "a"].map((id) => store.claim(id))).toEqual(["busy", "done", "done", "claimed"]);
  });
});
