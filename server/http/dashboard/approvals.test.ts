// Payouts that wait for approval, on a live server: what a merchant's program, an operator and the merchant's people see.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceError } from "../../domain/errors.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
let grace: Visitor;
let esi: Visitor;
let at: string;
let id: string;
beforeAll(async () => {
  receiver = await startReceiver();
  const env = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  server = await startServer({ env: { SANDBOX: "false", ...env } });
  id = server.merchant.id;
  at = `/m/${id}/approvals`;
  [grace, esi] = [await signedIn(server, { name: "Grace" }), await signedIn(server, { merchantId: id, name: "Esi" })];
  await server.storage.setMerchantLimits(id, { approvalFrom: { XOF: 10_000, GHS: 1 } }, "command ada@host");
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

const create = async (changes = {}) => {
  const { status, body } = await server.createPayout({ webhookURL: receiver.url, ...changes });
  expect([status, body.data.status]).toEqual([200, "pending"]);
  return body.data.reference as string;
};
const verified = async (reference: string) =>
  (await server.request("GET", `/v1/disbursements/${reference}`)).body.data as { status: string; failure?: object };
const chosen = (references: readonly string[]) => references.map((reference) => `payment=${id}/${reference}`).join("&");
const decide = (visitor: Visitor, action: string, references: readonly string[], fields = {}) =>
  Promise.all(
    references.map(async (reference) => {
      const { status, html } = await visitor.post(`${at}/${action}`, { payment: `${id}/${reference}`, ...fields });
      expect(status).toBe(200);
      return /role="status"><p>(.*?)<\/p>/.exec(html)?.[1];
    }),
  );

test("an operator approves payouts after a page with their totals; each is then paid, and a smaller one at once", async () => {
  const references = [
    await create(),
    await create({ amount: 2_500_000 }),
    await create({ currency: "GHS", amount: 5 }),
  ];
  const small = (await server.createPayout({ amount: 9_999 })).body.data.reference;
  await server.pass(1_000);
  expect((await verified(small)).status).toBe("success");
  for (const reference of references) expect((await verified(reference)).status).toBe("pending");

  const { html } = await grace.get("/approvals");
  for (const reference of references) expect(html).toContain(`value="${id}/${reference}"`);
  expect(html).not.toContain(small);
  expect(html.replaceAll("\u00a0", " ")).toContain("+225 70 38 10 24 73");
  expect(html).toMatch(/GHS\s0\.05<\/strong> in 1 payout<.*25,100\.00<\/strong> in 2 payouts</s);
  const { html: asked } = await grace.get(`/approvals/approve?${chosen(references.slice(0, 2))}`);
  expect(asked).toMatch(/Approve 2 payouts\?.*25,100\.00<\/strong> in 2 payouts.*cannot be taken back/s);
  expect((await verified(references[0]!)).status).toBe("pending");
  expect(await decide(grace, "approve", references.slice(0, 2))).toEqual(["1 payout approved.", "1 payout approved."]);
  await server.pass(1_000);
  expect((await verified(references[0]!)).status).toBe("success");
  expect((await verified(references[2]!)).status).toBe("pending");
  expect(await decide(grace, "approve", [references[0]!])).toEqual([
    "1 payout not: It does not wait for approval any more.",
  ]);
  expect((await grace.get(`/approvals/approve?${chosen([references[0]!])}`)).status).toBe(422);
});

test("if the storage fails after a decision, the page does not say that nothing was recorded", async () => {
  const reference = await create();
  const { listWaiting } = server.storage;
  server.storage.listWaiting = () => Promise.reject(new ServiceError("unavailable", "The server is overloaded."));
  const { status, html } = await grace.post(`${at}/approve`, { payment: `${id}/${reference}` });
  const again = await grace.post(`${at}/approve`, { payment: `${id}/${reference}` });
  const french = await grace.post(`${at}/approve`, { payment: `${id}/${reference}` }, { "accept-language": "fr" });
  server.storage.listWaiting = listWaiting;
  expect([status, html.includes("Nothing was recorded")]).toEqual([500, false]);
  expect(html).toContain(`Recorded before this error: Approved a payout, reference: ${reference}`);
  expect([again.status, again.html.includes("Nothing was recorded")]).toEqual([503, true]);
  expect(french.html).toMatch(/>Le serveur répond, en anglais\s: The server is overloaded\.</);
  await server.pass(1_000);
  expect((await verified(reference)).status).toBe("success");
});

test("a rejected payout fails with not_approved, and its webhook is sent", async () => {
  const reference = await create();
  const { html } = await grace.get(`/approvals/reject?${chosen([reference])}`);
  expect(html).toMatch(/Reject 1 payout\?.*not_approved.*name="reason" required/s);
  expect((await grace.post(`${at}/reject`, { payment: `${id}/${reference}` })).status).toBe(422);
  expect((await verified(reference)).status).toBe("pending");
  expect(await decide(grace, "reject", [reference], { reason: "Wrong recipient" })).toEqual(["1 payout rejected."]);
  const failure = { code: "not_approved", message: "The payment was not approved." };
  expect(await verified(reference)).toMatchObject({ status: "failed", failure });
  await server.pass(1_000);
  const bodies = receiver.received.map(({ body }) => body as object);
  expect(bodies).toContainEqual(
    expect.objectContaining({
      event: "disbursement.failed",
      data: expect.objectContaining({ reference, status: "failed", failure }),
    }),
  );
});

test("the merchant's people see what waits, and cannot approve what the merchant's limit holds back", async () => {
  const reference = await create();
  const { html } = await esi.get(`/m/${id}/disbursements/${reference}`);
  expect(html).toMatch(/Waits for approval, because of a limit of its merchant\. An operator must decide/);
  expect(html).toContain("Fails unless somebody approves it");
  expect((await esi.get(at)).html).toContain(reference);
  expect(await decide(esi, "approve", [reference])).toEqual([expect.stringContaining("so an operator must decide")]);
  expect((await esi.get("/approvals")).status).toBe(303);
  expect((await esi.post("/approvals/approve", { payment: `${id}/${reference}` })).status).toBe(404);
  const other = await server.addMerchant("Other");
  await server.storage.setMerchantLimits(other.merchant.id, { approvalFrom: {} }, "command ada@host");
  const { body } = await server.createPayout({}, { key: other.key });
  const payment = `${other.merchant.id}/${body.data.reference}`;
  expect((await esi.post(`${at}/approve`, { payment })).html).not.toContain("approved.");
  expect((await esi.get(`${at}/approve?payment=${payment}`)).status).toBe(422);
  expect((await server.storage.listWaiting({ merchantId: other.merchant.id, limit: 1 })).length).toBe(1);
});

test("nobody approves a payout of the own key, and without approval it fails after 24 hours", async () => {
  const { merchant } = await server.addMerchant("Own");
  const page = await grace.post(`/m/${merchant.id}/settings/keys`, { name: "Mine" });
  const [, key] = /<code id="new-key">(live_\w{32})<\/code>/.exec(page.html)!;
  const { id: keyId } = (await server.storage.listKeysOf(merchant.id)).find(({ name }) => name === "Mine")!;
  await grace.post(`/m/${merchant.id}/settings/keys/limits`, { key: keyId, approvalFrom: "XOF:1" });
  const { body } = await server.createPayout({}, { key: key! });
  const payment = `${merchant.id}/${body.data.reference}`;
  const { html } = await grace.post("/approvals/approve", { payment });
  expect(html).toContain(
    "1 payout not: You made it or created its API key, or a sign-in link connects you with the person who did. Somebody else must approve it.",
  );
  await server.pass(24 * 3_600_000);
  const { body: found } = await server.request("GET", `/v1/disbursements/${body.data.reference}`, { key: key! });
  expect(found.data).toMatchObject({ status: "failed", failure: { code: "not_approved" } });
});
