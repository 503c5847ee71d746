import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "../../client/index.ts";
import { verifyWebhook } from "../../client/webhooks/webhooks.ts";
import { aPayout, serve } from "../testing/http.ts";
import { startProgram } from "../testing/process.ts";
import { startReceiver } from "../testing/receiver.ts";
import { startSandbox, type Sandbox } from "./index.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

let merchant: Sandbox;
beforeEach(async () => {
  merchant = await sandbox.merchant();
});
afterEach(() => merchant.stop());

const clientOf = ({ baseUrl, apiKey }: Sandbox) => createClient({ baseUrl, apiKey });
const pay = (reference: string, by = merchant) => clientOf(by).disbursements.create(aPayout({ reference }));

test("works while the test's clock stands still in another year", async () => {
  vi.useFakeTimers({ now: Date.UTC(2031, 0, 1) });
  try {
    await using own = await startSandbox();
    await pay("salary-1", own);
    await own.finish("salary-1", "failed", { failure: "wallet_blocked" });
    const { body, headers, event } = await own.webhook("disbursement.failed");
    expect((await verifyWebhook(body, headers, own.webhookSecret)).event).toEqual(event);
    expect(event.data.failure?.code).toBe("wallet_blocked");
  } finally {
    vi.useRealTimers();
  }
});

test("keeps a payout pending until its test moves the time or ends it", async () => {
  await pay("by-time");
  await merchant.advance({ hours: 23, minutes: 59, seconds: 59 });
  expect(await merchant.payouts()).toMatchObject([{ merchantsReference: "by-time", status: "pending" }]);
  await expect(merchant.webhook("disbursement.completed", { timeout: 0 })).rejects.toThrow(
    "No disbursement.completed within 0 ms. Pending: by-time. A payout stays pending until finish(reference, status), " +
      "or advance({ days: 1 }).",
  );
  const waiting = merchant.webhook("disbursement.completed");
  await merchant.advance({ seconds: 1 });
  expect((await waiting).event.data).toMatchObject({ merchantsReference: "by-time", status: "success" });
  await expect(merchant.webhook("disbursement.completed", { timeout: 0 })).rejects.toThrow("no payout is pending");
});

test("loses one response of this merchant, and the payout exists", async () => {
  await merchant.lose("create");
  const headers = { "x-api-key": merchant.apiKey, "content-type": "application/json" };
  const create = (reference: string, amount = 100) => {
    const body = JSON.stringify(aPayout({ reference, amount }));
    return fetch(`${merchant.baseUrl}/v1/disbursements`, { method: "POST", headers, body });
  };
  await pay("other merchant", sandbox);
  expect((await create("refused", 0)).status).toBe(422);
  await expect(create("lost")).rejects.toThrow("fetch failed");
  expect((await create("lost")).status).toBe(409);
  expect((await create("found")).status).toBe(200);
  expect((await merchant.payouts()).map((payout) => payout.merchantsReference)).toEqual(["lost", "found"]);
});

test("returns each event once, in order, and sends it to an address, which must respond", async () => {
  const receiver = await startReceiver(202, "thanks");
  for (const reference of ["a", "b", "c", "d"]) await pay(reference);
  for (const reference of ["b", "a", "c"]) await merchant.finish(reference, "success");
  const types = ["disbursement.completed", "disbursement.completed"] as const;
  const both = await Promise.all(types.map((type) => merchant.webhook(type)));
  expect(both.map(({ event }) => event.data.merchantsReference).toSorted()).toEqual(["a", "b"]);
  const third = await merchant.webhook("disbursement.completed", { to: new URL(receiver.url) });
  const data = { merchantsReference: "c" };
  expect(third).toMatchObject({ response: { status: 202, body: "thanks" }, event: { data } });
  expect(receiver.received.map(({ text }) => text)).toEqual([third.body]);
  await verifyWebhook(third.body, receiver.received[0]!.headers, merchant.webhookSecret);
  await merchant.finish("d", "success");
  const silent = await serve(() => undefined);
  const unanswered = merchant.webhook("disbursement.completed", { to: silent.url, timeout: 50 });
  await expect(unanswered).rejects.toThrow("no response within 50 ms");
  await Promise.all([receiver.close(), silent.close()]);
});

test("finishes payouts and checkouts by either reference", async () => {
  const client = clientOf(merchant);
  await client.checkouts.create({ reference: "order-1", amount: 100, country: "CI", currency: "XOF" });
  await pay("DSB-mine");
  const [payout] = await merchant.payouts();
  expect(await merchant.finish("order-1", "cancelled")).toMatchObject({ status: "cancelled" });
  expect(await merchant.finish(payout!.reference, "success")).toMatchObject({ merchantsReference: "DSB-mine" });
  await expect(merchant.finish("DSB-mine", "success")).rejects.toThrow("already ended");
});

test("shares nothing between merchants and sandboxes", async () => {
  await using other = await startSandbox();
  const second = await merchant.merchant("Kofi Goods");
  expect(new Set([merchant, second, other].map(({ apiKey }) => apiKey)).size).toBe(3);
  await pay("a");
  await pay("b", second);
  await merchant.advance({ days: 1 });
  const counts = [merchant, second, other].map(async (each) => (await each.payouts()).length);
  expect(await Promise.all(counts)).toEqual([1, 1, 0]);
  expect(await second.payouts()).toMatchObject([{ status: "pending", merchant: { name: "Kofi Goods" } }]);
  await second.stop();
  await second.stop();
  await expect(second.payouts()).rejects.toThrow(/key/);
});

test("says what is wrong with a call", async () => {
  const call = merchant as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  await expect(call.webhook!("disbursment.failed")).rejects.toThrow("no event disbursment.failed. There are disb");
  await expect(call.advance!({ weeks: 1 })).rejects.toThrow("advance takes days, hours, minutes, seconds, not weeks.");
  await expect(call.advance!({ days: "one" })).rejects.toThrow("seconds");
  await expect(call.advance!(60)).rejects.toThrow("advance takes days, hours, minutes, seconds, not 60.");
  await expect(call.finish!({ reference: "a" }, "failed")).rejects.toThrow("finish takes a reference, which is text");
  await expect(call.finish!("a", "failed", "declined")).rejects.toThrow('of finish takes failure, not "declined".');
  await expect(startSandbox({ settleDelay: 0 } as object)).rejects.toThrow("takes settleDelayMs, not settleDelay.");
  await expect(call.lose!("webhook")).rejects.toThrow("lose takes create or createCheckout, not webhook.");
  await expect(call.finish!("unknown", "success")).rejects.toThrow("No payout or checkout has the reference unknown.");
  await expect(startSandbox({ settleDelayMs: -1 })).rejects.toThrow("SETTLE_DELAY_MS must be a whole number from 0");
});

test("ends every call when it is stopped", async () => {
  const own = await startSandbox({ settleDelayMs: 0 });
  const waiting = own.webhook("checkout.failed", { timeout: 60_000 }).catch(({ message }: Error) => message);
  await own.stop();
  expect(await waiting).toBe("The sandbox was stopped.");
  await own.stop();
  await expect(own.payouts()).rejects.toThrow("The sandbox was stopped.");
  await expect(fetch(own.baseUrl)).rejects.toThrow("fetch failed");
});

/** Runs a program that starts a sandbox, until it has printed the sandbox's address. */
async function program(end: string) {
  const file = JSON.stringify(fileURLToPath(new URL("index.ts", import.meta.url)));
  const code = `import { startSandbox } from ${file}; const sandbox = await startSandbox();
    console.log(sandbox.baseUrl); ${end}`;
  const running = startProgram(process.execPath, ["--input-type=module", "-e", code]);
  const [address] = await running.until(/http.+/);
  return { ...running, address };
}

test("does not keep its process alive, and ends with it", async () => {
  const forgetful = await program("sandbox.advance(() => 1).catch(() => 0)");
  expect(await forgetful.ended).toMatchObject({ code: 0, stderr: "" });
  const killed = await program("setInterval(() => undefined, 1_000)");
  expect((await fetch(`${killed.address}/readyz`)).status).toBe(200);
  killed.child.kill("SIGKILL");
  await killed.ended;
  await expect(fetch(killed.address)).rejects.toThrow("fetch failed");
});
