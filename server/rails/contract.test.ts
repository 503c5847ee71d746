// A gateway over a rail that is a service with this same contract: here, the sandbox of this server.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Rail } from "../domain/rails.ts";
import { railsOf } from "../testing/rail.ts";
import { startFaultyGateway } from "./suite/faults.ts";
import { railSuite } from "../testing/rail-suite.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { checkedRail } from "./checked-rail.ts";
import { createContractRail } from "./contract.ts";

let service: TestServer;
let gateway: TestServer;
let rail: Rail;
/** Replaces the transport of the next calls. */
let transport: (typeof fetch)[];

beforeEach(async () => {
  transport = [];
  service = await startServer({ seed: 5, env: { WEBHOOK_ALLOW_PRIVATE: "true" } });
  const { secret } = (await service.request("GET", "/sandbox/webhook-secret")).body.data;
  rail = checkedRail(
    createContractRail({
      url: service.url,
      apiKey: service.key,
      webhookSecrets: [secret],
      now: service.clock.now,
      fetch: (input, init) => (transport.shift() ?? fetch)(input, init),
    }),
  );
  gateway = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(rail) });
});
afterEach(async () => {
  await gateway.close();
  await service.close();
});

async function pay(phoneNumber: string): Promise<string> {
  const { body } = await gateway.createPayout({ phoneNumber });
  await gateway.pass(0);
  return body.data.reference;
}
const recordOf = async (reference: string) =>
  (await gateway.request("GET", `/v1/disbursements/${reference}`)).body.data;
const atRail = async (merchantsReference: string) =>
  (await service.request("GET", `/v1/disbursements?merchantsReference=${merchantsReference}`)).body.data.items;

test("a payout goes over the rail under our reference, and its webhook ends ours", async () => {
  const reference = await pay("2257038102473");
  expect(await recordOf(reference)).toMatchObject({ status: "pending" });
  expect(await atRail(reference)).toMatchObject([{ amount: 10_000, merchantsReference: reference }]);
  await service.pass(2_000);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
});

test("the rail's reason of a failure is ours", async () => {
  const reference = await pay("2250000000002");
  expect(await recordOf(reference)).toMatchObject({ status: "failed", failure: { code: "rejected" } });
});

test("a response that is lost after the rail recorded the payout is found, and not paid again", async () => {
  transport.push(async (input, init) => {
    await fetch(input, init);
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
  });
  const reference = await pay("2257038102473");
  await gateway.pass(2_000);
  expect((await atRail(reference)).length).toBe(1);
  await service.pass(2_000);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
});

/** What the rail says about a payout if its responses have other texts. */
async function answered(phoneNumber: string, from: string, to: string) {
  const { url, key: apiKey, clock } = service;
  const rewrite: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    return new Response((await response.text()).replaceAll(from, to), response);
  };
  const other = createContractRail({ url, apiKey, webhookSecrets: [], now: clock.now, fetch: rewrite });
  const payment = { kind: "disbursement", amount: 10_000, country: "CI", currency: "XOF", createdAt: 0 } as const;
  const call = { signal: AbortSignal.timeout(60_000), notifyUrl: gateway.url, returnUrl: gateway.url, inDoubt: false };
  return other.pay({ ...payment, reference: to, phoneNumber }, call);
}

test("a status that a later version of the rail adds is not final, and an added code means another reason", async () => {
  expect(await answered("2250000000001", '"status":"success"', '"status":"held"')).toMatchObject({ status: "pending" });
  const failed = await answered("2250000000002", '"code":"rejected"', '"code":"wallet_asleep"');
  expect(failed).toMatchObject({ status: "failed", failure: { code: "other" } });
});

const rewritten =
  (from: string | RegExp, to: string): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    return new Response((await response.text()).replace(from, to), response);
  };
const reset = () => new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });

test.each([400, 401, 404, 422, 429, 503, "reset"])(
  "a rail that has taken a payout has it, also if the look-up after that ends with %s",
  async (status) => {
    transport.push(rewritten('"status":"success"', '"status":"failed"'), async () => {
      if (status === "reset") throw reset();
      const body = { statusCode: status, error: "Error", message: "no", code: "invalid_value" };
      return Response.json(body, { status: status as number });
    });
    const reference = await pay("2250000000001");
    expect(await gateway.storage.findHandover(reference)).toMatchObject({ state: "accepted", status: "pending" });
    await gateway.pass(7_000);
    expect(await recordOf(reference)).toMatchObject({ status: "success" });
    expect((await atRail(reference)).length).toBe(1);
  },
);

const masking: typeof fetch = (input, init) =>
  new Request(input, init).url.includes("?")
    ? rewritten(/"phoneNumber":"\d+"/g, '"phoneNumber":"2257*****473"')(input, init)
    : fetch(input, init);

test("a list that hides digits of phone numbers leaves no payout in doubt", async () => {
  transport.push(
    async (input, init) => {
      await fetch(input, init);
      throw reset();
    },
    // The client looks for the payout first, in vain.
    ...Array.from({ length: 2 }, () => async () => new Response("", { status: 503 })),
  );
  const reference = await pay("2257038102473");
  expect(await gateway.storage.findHandover(reference)).toMatchObject({ state: "waiting" });
  transport.splice(0, Infinity, masking, masking);
  await gateway.pass(2_000);
  expect(await gateway.storage.findHandover(reference)).toMatchObject({ state: "accepted" });
});

test.each([
  ["a refused connection", 0],
  ["an error of the service", 500],
  ["a gateway's page", 502],
  ["a refused key", 401],
])("%s fails no payout", async (_, status) => {
  transport.push(async () => {
    if (status > 0) return new Response("<html>", { status, headers: { "content-type": "text/html" } });
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
  });
  const reference = await pay("2250000000001");
  expect(await recordOf(reference)).toMatchObject({ status: "pending" });
  for (let tries = 0; tries < 3; tries += 1) await gateway.pass(4_000);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
  expect((await atRail(reference)).length).toBe(1);
});

test("a refusal fails the payout once the rail has proven that no earlier request reached it", async () => {
  const refusal = { statusCode: 422, error: "Unprocessable Content", message: "too much", code: "invalid_value" };
  let posts = 0;
  const unwilling: typeof fetch = async (input, init) => {
    if (new Request(input, init).method !== "POST") return fetch(input, init);
    posts += 1;
    if (posts > 1) return Response.json(refusal, { status: 422 });
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
  };
  transport.push(...Array.from({ length: 40 }, () => unwilling));
  const reference = await pay("2257038102473");
  await gateway.pass(4_000);
  expect([posts, (await recordOf(reference)).status]).toEqual([2, "pending"]);
  // Two minutes after the last request, no request can arrive any more.
  for (let tries = 0; tries < 2; tries += 1) await gateway.pass(200_000);
  expect(await recordOf(reference)).toMatchObject({ status: "failed", failure: { code: "rejected" } });
});

test("a notification with a wrong signature is refused", async () => {
  const response = await fetch(`${gateway.url}/rails/test/webhooks`, {
    method: "POST",
    headers: { "webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" },
    body: "{}",
  });
  expect(response.status).toBe(401);
});

test("a service without a webhook secret can report nothing, so that nobody else can", () => {
  const { receive } = createContractRail({ url: service.url, apiKey: "key", webhookSecrets: [], now: Date.now });
  expect(receive).toBeUndefined();
});

let receiver: Receiver;
railSuite("a service with this contract", {
  async open() {
    receiver = await startReceiver();
    const env = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
    const behind = await startServer({ seed: 9, env });
    const { secret } = (await behind.request("GET", "/sandbox/webhook-secret")).body.data;
    const between = await startFaultyGateway(behind.url, (method) => method === "POST");
    const railWith = (apiKey: string) =>
      createContractRail({ url: between.url, apiKey, webhookSecrets: [secret], now: behind.clock.now });
    const refused = { statusCode: 422, error: "Unprocessable Entity", code: "limit_exceeded", message: "Too much." };
    return {
      rail: railWith(behind.key),
      async recorded(reference) {
        const found = await behind.request("GET", `/v1/disbursements?merchantsReference=${reference}`);
        return found.body.data.items.length;
      },
      end: () => behind.pass(2_000),
      contradict: async ({ reference }) =>
        between.rewrite((body) =>
          body.includes(reference) ? body.replaceAll('"status":"success"', '"status":"failed"') : body,
        ),
      gateway: between,
      refusal: { status: 422, body: refused },
      withWrongCredentials: async () => railWith("wrong"),
      elsewhere: async () => railWith(behind.key),
      async notificationOf({ reference }) {
        const isOurs = ({ body }: Receiver["received"][number]) => body.data.merchantsReference === reference;
        const { headers, text } = await vi.waitUntil(() => receiver.received.find(isOurs), 250_000);
        return { headers, body: Buffer.from(text) };
      },
      async close() {
        await between.close();
        await behind.close();
        await receiver.close();
      },
    };
  },
  notifyUrl: () => receiver.url,
  numbers: { success: "2257038102473", failed: "2250000000089" },
});
