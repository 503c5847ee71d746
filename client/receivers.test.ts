import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "./index.ts";
import { memoryStore } from "./receiver.ts";
import type { EventStore, ReceiverOptions } from "./receiver.ts";
import { key } from "./testing/fakes.ts";
import { startServer } from "./testing/processes.ts";
import type { Running } from "./testing/processes.ts";
import { receivers } from "./testing/receivers.ts";
import type { RunningReceiver } from "./testing/receivers.ts";
import { signWebhook, UsageError } from "./webhooks.ts";
import type { WebhookEvent } from "./webhooks.ts";

const foreignSecret = `whsec_${btoa("a secret of another merchant")}`;

let server: Running;
let client: ReturnType<typeof createClient>;
let secrets: string[];
beforeAll(async () => {
  server = await startServer(key);
  client = createClient({ baseUrl: server.baseUrl, apiKey: key });
  secrets = await readSecrets();
});
afterAll(() => server?.stop());

async function readSecrets(): Promise<string[]> {
  const { data } = await client.raw.GET("/sandbox/webhook-secret");
  return [data!.data.secret, ...data!.data.previousSecrets.map(({ secret }) => secret)];
}

/** Settles everything that is due and makes every webhook attempt that is due, before it returns. */
const advance = (seconds: number) => client.raw.POST("/sandbox/clock/advance", { body: { seconds } });

let payouts = 0;
async function payOut(webhookURL: string) {
  const reference = `${webhookURL}-${payouts++}`.slice(-60);
  const recipient = { phoneNumber: "2257038102001", country: "CI", currency: "XOF" };
  const payout = await client.disbursements.create({ reference, amount: 10_000, webhookURL, ...recipient });
  await advance(1);
  return payout.reference;
}

/** The delivery of a payout's event: its id, and the status of the receiver's response to each attempt. */
async function deliveryOf(reference: string) {
  const { data } = await client.raw.GET("/sandbox/deliveries", { params: { query: { reference } } });
  const { id, attempts } = data!.data.items[0]!;
  return { id, responses: attempts.toSorted((a, b) => a.number - b.number).map(({ httpStatus }) => httpStatus) };
}

const replay = (id: string) =>
  client.raw.POST("/sandbox/deliveries/{id}/replay", { params: { path: { id } }, body: undefined as never });

describe.each(Object.keys(receivers))("%s", (framework) => {
  let running: RunningReceiver | undefined;
  const handled: WebhookEvent[] = [];
  const errors: unknown[] = [];
  const start = async (options: Partial<ReceiverOptions> = {}) => {
    running = await receivers[framework]!({
      secret: secrets,
      onEvent: (event) => handled.push(event),
      onError: (error) => errors.push(error),
      ...options,
    });
    return running;
  };
  beforeEach(() => {
    handled.length = 0;
    errors.length = 0;
  });
  afterEach(async () => {
    vi.useRealTimers();
    await running?.stop();
    running = undefined;
  });

  /** Delivers a signed event without the server, with changes. */
  const deliver = async (url: string, change: object = {}, secret = secrets[0]!, text = JSON.stringify(sample)) => {
    const { headers, body } = { ...(await signWebhook(text, secret, { id: "msg_1" })), ...change };
    const response = await fetch(url, { method: "POST", headers, body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const sample = { event: "disbursement.completed", data: { reference: "DSB1" } };

  test("handles the service's webhook once, typed, however often it is delivered", async () => {
    const { url } = await start();
    const reference = await payOut(url);
    expect(handled).toMatchObject([{ event: "disbursement.completed", data: { reference, status: "success" } }]);
    const { id, responses } = await deliveryOf(reference);
    expect(responses).toEqual([204]);
    await replay(id);
    expect((await deliveryOf(reference)).responses).toEqual([204, 204]);
    expect(handled).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test("handles an event again whose handler threw, and reports the error without showing it to the sender", async () => {
    const failure = new Error("the database is down");
    let attempts = 0;
    const onEvent = async (event: WebhookEvent) => {
      if (++attempts === 1) throw failure;
      handled.push(event);
    };
    const { url } = await start({ onEvent });
    const reference = await payOut(url);
    expect(errors).toEqual([failure]);
    expect((await deliveryOf(reference)).responses).toEqual([500]);
    await advance(10);
    expect((await deliveryOf(reference)).responses).toEqual([500, 204]);
    expect(handled).toMatchObject([{ data: { reference } }]);
    const { data } = await client.raw.GET("/sandbox/deliveries", { params: { query: { reference } } });
    expect(data!.data.items[0]!.attempts.map(({ responseBody }) => responseBody).join()).not.toContain("database");
  });

  test("accepts webhooks of both secrets during a rotation, and of neither other one", async () => {
    const [before] = secrets as [string];
    await client.raw.POST("/sandbox/webhook-secret/rotate");
    secrets = await readSecrets();
    expect(secrets).toContain(before);
    const [current] = secrets as [string];
    for (const [secret, status] of [
      [before, 204],
      [current, 204],
      [[current, before], 204],
      [foreignSecret, 400],
    ] as const) {
      const { url } = await start({ secret });
      expect((await deliveryOf(await payOut(url))).responses).toEqual([status]);
      await running!.stop();
    }
    running = undefined;
    expect(handled).toHaveLength(3);
  });

  test("refuses forged and stale webhooks with 400", async () => {
    const { url } = await start();
    const { headers } = await signWebhook(JSON.stringify(sample), secrets[0]!, { id: "msg_1" });
    expect((await deliver(url, {}, foreignSecret)).status).toBe(400);
    expect((await deliver(url, { body: JSON.stringify({ ...sample, event: "disbursement.failed" }) })).status).toBe(
      400,
    );
    expect((await deliver(url, { headers: { ...headers, "webhook-id": "msg_2" } })).status).toBe(400);
    expect((await deliver(url, { headers: {} })).status).toBe(400);
    expect((await deliver(url, { body: "" })).status).toBe(400);
    const stale = await signWebhook(JSON.stringify(sample), secrets[0]!, { now: Date.now() - 301_000 });
    expect((await deliver(url, stale)).status).toBe(400);
    expect(handled).toEqual([]);
    expect(errors).toEqual([]);
    expect((await deliver(url)).status).toBe(204);
  });

  test("drops a captured webhook that is sent again", async () => {
    const { url } = await start();
    expect([(await deliver(url)).status, (await deliver(url)).status]).toEqual([204, 204]);
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
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "5"]);
    gate.resolve();
    expect((await first).status).toBe(204);
    expect((await deliver(url)).status).toBe(204);
    expect(handled).toHaveLength(1);
  });

  test("returns 413 for a body above the limit, whether or not its length is declared", async () => {
    const { url } = await start({ maxBytes: 1000 });
    const [whole, over] = [1000, 1001].map((length) => JSON.stringify({ ...sample, note: "" }).padEnd(length));
    expect((await deliver(url, {}, secrets[0], whole)).status).toBe(204);
    expect((await deliver(url, {}, secrets[0], over)).status).toBe(413);
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
  ])("returns 500 for %s and reports a UsageError", async (_, secret, message) => {
    const { url } = await start({ secret: secret as string });
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

  test("returns 500 if the store cannot claim, and 204 if only the end cannot be recorded", async () => {
    const noStore = new Error("no store");
    const broken = async () => {
      throw noStore;
    };
    const { url } = await start({ store: { ...memoryStore(), claim: broken } });
    expect((await deliver(url)).status).toBe(500);
    expect(handled).toEqual([]);
    await running!.stop();
    const next = await start({ store: { ...memoryStore(), done: broken } });
    expect((await deliver(next.url)).status).toBe(204);
    expect(handled).toHaveLength(1);
    expect(errors).toEqual([noStore, noStore]);
  });
});

describe("memoryStore", () => {
  test("forgets the oldest handled event above its size, and never one that is being handled", () => {
    const store = memoryStore(2);
    for (const id of ["busy", "a", "b", "c"]) expect(store.claim(id)).toBe("claimed");
    for (const id of ["a", "b", "c"]) void store.done(id);
    expect(["busy", "b", "c", "a"].map((id) => store.claim(id))).toEqual(["busy", "done", "done", "claimed"]);
  });
});
