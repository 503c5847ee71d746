// A gateway over a rail that is a service with this same contract: here, the sandbox of this server.
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Rail } from "../domain/rails.ts";
import { railsOf } from "../testing/rail.ts";
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

test("a record of the rail with another amount leaves the outcome unknown", async () => {
  const reference = "DSB1";
  await service.createPayout({ reference, amount: 5 });
  const payment = { kind: "disbursement", reference, amount: 10_000, country: "CI", currency: "XOF" } as const;
  const call = { signal: new AbortController().signal, notifyUrl: service.url, returnUrl: service.url, inDoubt: false };
  const asked = { ...payment, phoneNumber: "2257038102473", createdAt: 0 };
  await expect(rail.find(asked, call)).rejects.toThrow("another payment");
  await expect(rail.pay(asked, call)).rejects.toThrow("already");
});

test("a notification with a wrong signature is refused", async () => {
  const response = await fetch(`${gateway.url}/rails/test/webhooks`, {
    method: "POST",
    headers: { "webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" },
    body: "{}",
  });
  expect(response.status).toBe(401);
});

test("lists its payments for reconciliation", async () => {
  const references = [await pay("2257038102473"), await pay("2250000000002")];
  const period = { from: service.clock.now() - 60_000, to: service.clock.now() + 60_000 };
  const listed = [];
  for await (const entry of rail.list!(period, AbortSignal.timeout(10_000))) listed.push(entry.reference);
  expect(listed.toSorted()).toEqual(references.toSorted());
});

test("a wrong key is found at the start", async () => {
  const wrong = createContractRail({ url: service.url, apiKey: "wrong", webhookSecrets: [], now: Date.now });
  await expect(wrong.check!(AbortSignal.timeout(10_000))).rejects.toMatchObject({ options: { needsRepair: true } });
});
