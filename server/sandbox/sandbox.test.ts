import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "../../client/index.ts";
import { verifyWebhook } from "../../client/webhooks/webhooks.ts";
import { aPayout } from "../testing/http.ts";
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
  const { baseUrl, apiKey } = merchant;
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const create = (reference: string, amount = 100) => {
    const body = JSON.stringify(aPayout({ reference, amount }));
    return fetch(`${baseUrl}/v1/disbursements`, { method: "POST", headers, body });
  };
  await pay("other merchant", sandbox);
  expect((await create("refused", 0)).status).toBe(422);
  await expect(create("lost")).rejects.toThrow("fetch failed");
  expect((await create("lost")).status).toBe(409);
  expect((await create("found")).status).toBe(200);
  expect((await merchant.payouts()).map((payout) => payout.merchantsReference)).toEqual(["lost", "found"]);
});

test("returns each event once, in order, and sends it to an address", async () => {
  const receiver = await startReceiver(202, "thanks");
  for (const reference of ["a", "b", "c"]) await pay(reference);
  for (const reference of ["b", "a", "c"]) await merchant.finish(reference, "success");
  const types = ["disbursement.completed", "disbursement.completed"] as const;
  const both = await Promise.all(types.map((type) => merchant.webhook(type)));
  expect(both.map(({ event }) => event.data.merchantsReference).toSorted()).toEqual(["a", "b"]);
  const third = await merchant.webhook("disbursement.completed", { to: receiver.url });
  expect(third).toMatchObject({
    response: { status: 202, body: "thanks" },
    event: { data: { merchantsReference: "c" } },
  });
  expect(receiver.received.map(({ text }) => text)).toEqual([third.body]);
  await verifyWebhook(third.body, receiver.received[0]!.headers, merchant.webhookSecret);
  await receiver.close();
});

test("gives up on a receiver that does not respond", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  await pay("a");
  await merchant.finish("a", "success");
  const sent = merchant.webhook("disbursement.completed", { to: `http://127.0.0.1:${port}`, timeout: 50 });
  await expect(sent).rejects.toThrow("no response within 50 ms");
  silent.closeAllConnections();
  silent.close();
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
  expect(await Promise.all([merchant, second, other].map(async (each) => (await each.payouts()).length))).toEqual([
    1, 1, 0,
  ]);
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
  await expect(merchant.finish("unknown", "success")).rejects.toThrow(
    "No payout or checkout has the reference unknown.",
  );
  await expect(startSandbox({ settleDelayMs: -1 })).rejects.toThrow("SETTLE_DELAY_MS must be a whole number from 0");
});

test("takes an address as a URL", async () => {
  const receiver = await startReceiver(204);
  await pay("a");
  await merchant.finish("a", "success");
  const { response } = await merchant.webhook("disbursement.completed", { to: new URL(receiver.url) });
  expect(response.status).toBe(204);
  await receiver.close();
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
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [address] = (await once(child.stdout, "data")) as [Buffer];
  return { child, address: String(address).trim() };
}

test("does not keep its process alive, and ends with it", async () => {
  const forgetful = await program("sandbox.advance(() => 1).catch(() => 0)");
  expect(await once(forgetful.child, "exit")).toEqual([0, null]);
  const killed = await program("setInterval(() => undefined, 1_000)");
  expect((await fetch(`${killed.address}/readyz`)).status).toBe(200);
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  await expect(fetch(killed.address)).rejects.toThrow("fetch failed");
});
