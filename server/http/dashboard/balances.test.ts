import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedIn } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

test("a merchant sees its balances and its statement, and operators the balances of all", async () => {
  const { merchant } = server;
  const page = `/m/${merchant.id}/balances`;
  const kofi = await signedIn(server, { merchantId: merchant.id, name: "Kofi" });
  expect((await kofi.get(page)).html).toContain("Nothing was paid yet");
  const { reference } = (await server.createPayout({ amount: 10_000 })).body.data;
  const { html } = await kofi.get(page);
  for (const text of ["-XOF", "101.00", "Payout created", `/m/${merchant.id}/disbursements/${reference}"`])
    expect(html).toContain(text);
  expect((await kofi.get("/balances")).status).toBe(404);
  const { html: all } = await (await signedIn(server)).get("/balances");
  for (const text of [merchant.name, `${page}"`, "101.00"]) expect(all).toContain(text);
});

test("a balance that is less than the busiest of the last days may not last a day", async () => {
  const other = await startServer({ env: { BALANCES: "enforced" } });
  const { merchant, storage, key } = other;
  const actor = "dashboard Ada";
  await storage.adjustBalance(merchant.id, { id: "bank-118", currency: "XOF", amount: 40_000, reason: "Bank" }, actor);
  for (const amount of [10_000, 15_000]) await other.createPayout({ amount, phoneNumber: "2250700000001" }, { key });
  const kofi = await signedIn(other, { merchantId: merchant.id });
  const page = `/m/${merchant.id}/balances`;
  expect((await kofi.get(page)).html).not.toContain("may not last a day");
  await other.pass(86_400_000);
  const today = await signedIn(other);
  const { html } = await today.get(page);
  expect(html).toMatch(/XOF\s147\.50.*may not last a day.*XOF\s250\.00/s);
  await storage.adjustBalance(merchant.id, { id: "bank-119", currency: "XOF", amount: 10_250, reason: "Bank" }, actor);
  expect((await today.get(page)).html).not.toContain("may not last a day");
  await other.close();
});

const form = { kind: "top-up", amount: "1000000", currency: "XOF", reason: "Bank transfer 118" };
const availableOf = async (merchantId: string) =>
  (await server.storage.listBalances(merchantId)).map(({ currency, available }) => `${currency} ${available}`);
/** The fields of the form that says what will happen. */
const hidden = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name, value]) => [name, value!]),
  );

describe("a balance is changed by hand", () => {
  test("after a page that says what will happen, and once however often the form is sent", async () => {
    const { merchant } = await server.addMerchant("Ama Stores");
    const ada = await signedIn(server, { name: "Ada", role: "finance" });
    const at = `/merchants/${merchant.id}`;
    expect((await ada.get(at)).html).toContain("Top up: the merchant has paid in");
    const { html } = await ada.get(`${at}/adjust?${new URLSearchParams(form)}`);
    expect(html).toMatch(/Available now: XOF\s0\.00\. Available then: <strong>XOF\s10,000\.00</);
    for (let count = 0; count < 2; count += 1) expect((await ada.post(`${at}/adjust`, hidden(html))).status).toBe(303);
    expect(await availableOf(merchant.id)).toEqual(["XOF 1000000"]);
    const taken = { ...form, kind: "withdraw", amount: "1000001" };
    const refused = await ada.post(
      `${at}/adjust`,
      hidden((await ada.get(`${at}/adjust?${new URLSearchParams(taken)}`)).html),
    );
    expect([refused.status, await availableOf(merchant.id)]).toEqual([409, ["XOF 1000000"]]);
    for (const wrong of [{ amount: "-5" }, { amount: "1.5" }, { currency: "xof" }, { reason: " " }, { kind: "both" }]) {
      const query = String(new URLSearchParams({ ...form, ...wrong }));
      expect([wrong, (await ada.get(`${at}/adjust?${query}`)).status]).toEqual([wrong, 422]);
    }
  });

  test("from an amount on, only with a second person", async () => {
    const other = await startServer({ env: { BALANCE_APPROVAL_FROM: "XOF:1000000" } });
    const { merchant, storage } = other;
    const [ada, grace] = [await signedIn(other, { name: "Ada" }), await signedIn(other, { name: "Grace" })];
    const at = `/merchants/${merchant.id}/adjust`;
    const available = async () => (await storage.listBalances(merchant.id)).map((balance) => balance.available);
    const send = async (changes: Partial<typeof form>) => {
      const { html } = await ada.get(`${at}?${new URLSearchParams({ ...form, ...changes })}`);
      expect(html).toContain("once somebody else has approved it");
      expect((await ada.post(at, hidden(html))).status).toBe(303);
      const { currency } = { ...form, ...changes };
      return (await storage.listProposals()).find((proposal) => proposal.currency === currency)!.id;
    };
    const first = await send({});
    const second = await send({ amount: "1", currency: "GHS" });
    expect(await available()).toEqual([]);
    const decide = (visitor: typeof ada, id: string, action: string) =>
      visitor.post(`/balances/${action}`, { proposal: `${merchant.id}/${id}` });
    expect((await decide(ada, first, "approve")).html).toContain("Somebody else must approve it");
    expect((await grace.get("/balances")).html).toContain("Bank transfer 118");
    for (let count = 0; count < 2; count += 1) expect((await decide(grace, first, "approve")).status).toBe(303);
    expect((await decide(grace, second, "reject")).status).toBe(303);
    expect(await available()).toEqual([1_000_000]);
    expect(await storage.listProposals()).toEqual([]);
    const { items } = await storage.listAudit({ merchantId: merchant.id, limit: 4 });
    expect(items.map(({ action, actor }) => `${action} ${actor}`)).toEqual([
      "balance.reject dashboard Grace",
      "balance.top-up dashboard Grace",
      "balance.propose dashboard Ada",
      "balance.propose dashboard Ada",
    ]);
    await other.close();
  });
});
