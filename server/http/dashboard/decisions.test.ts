// Decisions that need a person, or two, on a live service: payouts and changes of balances that wait for approval, and
// payments that end by hand (D74, D93).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { enter, signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf } from "../../testing/rail.ts";
import { startServer } from "../../testing/server.ts";

const HOUR = 3_600_000;
const rail = createTestRail();
const settings = { SANDBOX: "false", BALANCE_APPROVAL_FROM: "XOF:1000000" };
const { server, receiver, id, area, ada, kofi, close } = await openDashboard(settings, railsOf(rail));
const { storage } = server;
await storage.setMerchantLimits(id, { approvalFrom: { XOF: 10_000, GHS: 1 } }, "command ada@host");
afterAll(close);

const create = async (changes = {}): Promise<string> =>
  (await server.createPayout({ webhookURL: receiver.url, ...changes })).body.data.reference;
const verified = async (reference: string, key = server.key) =>
  (await server.request("GET", `/v1/disbursements/${reference}`, { key })).body.data;
const statusOf = async (reference: string) => (await verified(reference)).status;
const payment = (reference: string) => ({ payment: `${id}/${reference}` });
const decide = (visitor: Visitor, action: string, reference: string, more = {}) =>
  visitor.post(`${area}/approvals/${action}`, { ...payment(reference), ...more });
const available = async (merchantId: string) =>
  (await storage.listBalances(merchantId)).map((each) => `${each.currency} ${each.available}`);

describe("a payout that waits for approval", () => {
  test("is approved after a page with the totals, then paid; a smaller one is paid at once", async () => {
    const [first, second, third] = [
      await create(),
      await create({ amount: 2_500_000 }),
      await create({ currency: "GHS", amount: 5 }),
    ];
    const small = await create({ amount: 9_999 });
    await server.pass(1_000);
    expect(await Promise.all([first, small].map(statusOf))).toEqual(["pending", "success"]);
    const totals = ["GHS 0.05, payouts: 1", "XOF 25,100.00, payouts: 2"];
    await says(ada.get("/approvals"), 200, first, second, third, "+225 70 38 10 24 73", ...totals, not(small));
    const chosen = [first, second].map((each) => `payment=${id}/${each}`).join("&");
    await says(ada.get(`/approvals/approve?${chosen}`), 200, "Approve payouts?", totals[1]!);
    for (const each of [first, second]) await says(decide(ada, "approve", each), 200, "Payouts approved: 1.");
    await server.pass(1_000);
    expect(await Promise.all([first, second, third].map(statusOf))).toEqual(["success", "success", "pending"]);
    await says(decide(ada, "approve", first), 200, "Payouts not decided: 1. It does not wait for approval any more.");
    await says(ada.get(`/approvals/approve?payment=${id}/${first}`), 422);
  });

  test("is rejected with a reason, fails with not_approved, and its webhook is sent", async () => {
    const reference = await create();
    await says(ada.get(`/approvals/reject?payment=${id}/${reference}`), 200, "Reject payouts?", "not_approved");
    await says(decide(ada, "reject", reference, { reason: "Wrong recipient" }), 200, "Payouts rejected: 1.");
    const failed = { status: "failed", failure: { code: "not_approved", message: "The payment was not approved." } };
    expect(await verified(reference)).toMatchObject(failed);
    await server.pass(1_000);
    const body = { event: "disbursement.failed", data: { reference, ...failed } };
    expect(receiver.received.find((each) => each.body.data.reference === reference)?.body).toMatchObject(body);
  });

  test("because of its merchant's limit is seen by the merchant's people, who cannot approve it", async () => {
    const reference = await create();
    const waits = ["Waits for an operator, because of a limit of its merchant.", "Fails unless somebody approves it"];
    await says(kofi.get(`${area}/disbursements/${reference}`), 200, ...waits);
    await says(kofi.get(`${area}/approvals`), 200, reference);
    await says(decide(kofi, "approve", reference), 200, "an operator decides");
    await says(kofi.post("/approvals/approve", payment(reference)), 404);
    expect(await statusOf(reference)).toBe("pending");
  });
});

describe("a second person", () => {
  const people = new Map<string, Visitor>();
  /** Signs a person in with a link that somebody has made at the dashboard. */
  async function letIn(by: string, name: string, team = "/team"): Promise<void> {
    const { html } = await people.get(by)!.post(`${team}/links`, { name, role: "administrator" });
    people.set(name, await enter(server, /sign-in\?token=([\w-]+)/.exec(html)![1]!));
  }
  beforeAll(async () => {
    for (const name of ["Ama", "Grace"]) people.set(name, await signedIn(server, { name }));
    await letIn("Ama", "Invented");
    await letIn("Ama", "Sibling");
    await letIn("Invented", "Grandchild");
    await letIn("Grace", "Guest");
    for (const name of ["Esi", "Yaw"]) await letIn("Ama", name, `${area}/team`);
  });
  let number = 0;

  /** Each decision: one person begins it, another tries to complete it. Resolves with true if it has taken effect. */
  const decisions: Record<string, (one: Visitor, other: Visitor) => Promise<boolean>> = {
    async "a payout"(one, other) {
      const name = `Key ${(number += 1)}`;
      const { html } = await one.post(`${area}/settings/keys`, { name });
      const [key] = /live_\w{32}/.exec(html)!;
      const { id: keyId } = (await storage.listKeysOf(id)).find((each) => each.name === name)!;
      await done(people.get("Ama")!.post(`${area}/settings/keys/limits`, { key: keyId, approvalFrom: "XOF:1" }));
      const { reference } = (await server.createPayout({ amount: 9_000 }, { key })).body.data;
      const { text } = await decide(other, "approve", reference);
      const isLeft = (await storage.listWaiting({ limit: 500 })).some((each) => each.reference === reference);
      expect(text).toContain(isLeft ? "a sign-in link connects you with the person who did" : "Payouts approved: 1.");
      return !isLeft;
    },
    async "a change of a balance"(one, other) {
      const name = `change-${(number += 1)}`;
      const form = { id: name, kind: "top-up", amount: "1000000", currency: "XOF", reason: "Bank transfer" };
      await done(one.post(`/m/${id}/balances/adjust`, form));
      await other.post("/balances/approve", { proposal: `${id}/${name}` });
      return !(await storage.listProposals()).some((proposal) => proposal.id === name);
    },
    async "a payment that ends by hand"(one, other) {
      // What was approved before is handed over now.
      await server.pass(0);
      rail.answers.push(new Error("time-out"));
      rail.found.push(new Error("time-out"));
      const reference = await create({ amount: 9_000 });
      await server.pass(0);
      const decision = { status: "failed", reason: "not in the rail's books" };
      for (const visitor of [one, other]) await done(visitor.post(`${area}/payments/${reference}/decide`, decision));
      return (await storage.findHandover(reference))!.status === "failed";
    },
  };

  describe.each(Object.entries(decisions))("for %s", (_, takesEffect) => {
    test.each([
      ["who let the first in", "Invented", "Ama", false],
      ["whom the first let in", "Ama", "Invented", false],
      ["whom the first let in indirectly", "Ama", "Grandchild", false],
      ["let in by who let the first in", "Invented", "Sibling", false],
      ["let in by nobody at the dashboard", "Ama", "Grace", true],
      ["let in by somebody else", "Invented", "Guest", true],
    ])("is not one %s", async (_who, one, other, expected) => {
      expect(await takesEffect(people.get(one)!, people.get(other)!)).toBe(expected);
    });
  });

  // The same operator let in Esi and Yaw.
  test.each([
    ["Esi", "Yaw", true],
    ["Esi", "Ama", false],
    ["Esi", "Esi", false],
  ])("of a merchant, after %s, is %s: %s", async (one, other, expected) => {
    expect(await decisions["a payout"]!(people.get(one)!, people.get(other)!)).toBe(expected);
  });
});

test("a decision about a payment under another merchant's path is 404, and changes nothing", async () => {
  const reference = await create({ amount: 9_000 });
  const { merchant } = await server.addMerchant("Other");
  const decision = { status: "failed", reason: "not in the rail's books" };
  for (const [action, form] of [["decide", decision] as const, ["ask", {}] as const])
    await says(ada.post(`/m/${merchant.id}/payments/${reference}/${action}`, form), 404);
  expect(await storage.findHandover(reference)).toMatchObject({ merchantId: id, status: "pending" });
});

describe("a balance is changed by hand", () => {
  const form = { kind: "top-up", amount: "999999", currency: "XOF", reason: "Bank transfer 118" };
  const asked = (at: string, changes = {}) => `${at}?${new URLSearchParams({ ...form, ...changes })}`;

  test("after a page that says what will happen, and once however often the form is sent", async () => {
    const { merchant } = await server.addMerchant("Ama Stores");
    const finance = await signedIn(server, { name: "Esther", role: "finance" });
    const at = `/m/${merchant.id}/balances/adjust`;
    const page = await says(finance.get(asked(at)), 200, "Available now: XOF 0.00. Available then: XOF 9,999.99");
    for (let count = 0; count < 2; count += 1) await done(finance.post(at, page.hidden("/adjust")));
    expect(await available(merchant.id)).toEqual(["XOF 999999"]);
    const more = await finance.get(asked(at, { kind: "withdraw", amount: "1000000" }));
    expect(more.text).toContain("Somebody else must approve it");
    for (const wrong of [{ amount: "-5" }, { amount: "1.5" }, { currency: "xof" }, { reason: " " }, { kind: "both" }])
      await says(finance.get(asked(at, wrong)), 422);
    expect(await available(merchant.id)).toEqual(["XOF 999999"]);
  });

  test("from an amount on, and in a currency without one, by two", async () => {
    const { merchant } = await server.addMerchant("Large");
    const at = `/m/${merchant.id}/balances/adjust`;
    const own = await signedIn(server, { merchantId: merchant.id, name: "Own" });
    const [one, two] = [await signedIn(server, { name: "Ada" }), await signedIn(server, { name: "Grace" })];
    for (const changes of [{ amount: "1000000" }, { amount: "1", currency: "GHS" }])
      await done(one.post(at, (await one.get(asked(at, changes))).hidden("/adjust")));
    expect(await available(merchant.id)).toEqual([]);
    const proposals = (await storage.listProposals()).filter((each) => each.merchantId === merchant.id);
    const [large, small] = ["XOF", "GHS"].map(
      (currency) => `${merchant.id}/${proposals.find((each) => each.currency === currency)!.id}`,
    );
    await says(one.post("/balances/approve", { proposal: large! }), 409, "Somebody else must approve it");
    const waits = "Changes of balances wait for a second person.";
    const overview = `/m/${merchant.id}/overview`;
    for (const page of ["/overview", overview]) await says(two.get(page), 200, waits);
    await says(own.get(overview), 200, not(waits));
    await says(two.get("/balances"), 200, "Bank transfer 118");
    for (let count = 0; count < 2; count += 1) await done(two.post("/balances/approve", { proposal: large! }));
    await done(two.post("/balances/reject", { proposal: small! }));
    expect(await available(merchant.id)).toEqual(["XOF 1000000"]);
    expect((await trail(server, 4, merchant.id)).map(({ action, actor }) => `${action} ${actor}`)).toEqual([
      "balance.reject dashboard Grace",
      "balance.top-up dashboard Grace",
      "balance.propose dashboard Ada",
      "balance.propose dashboard Ada",
    ]);
  });
});

test("a merchant sees its balances and its statement, and operators the balances of all", async () => {
  const { merchant, key } = await server.addMerchant("Statement");
  const page = `/m/${merchant.id}/balances`;
  const [own, operator] = [await signedIn(server, { merchantId: merchant.id }), await signedIn(server)];
  await says(own.get(page), 200, "There is nothing here.");
  const { reference } = (await server.createPayout({ amount: 10_000 }, { key })).body.data;
  await says(own.get(page), 200, "-XOF 101.00", "Payout created", reference);
  await says(operator.get("/balances"), 200, "Statement", "-XOF 101.00", `${page}"`);
});

test("a balance that is less than the busiest of the last days may run out within a day", async () => {
  const enforced = await startServer({ env: { BALANCES: "enforced" } });
  const topUp = (name: string, amount: number) => {
    const change = { id: name, currency: "XOF", amount, reason: "Bank" };
    return enforced.storage.adjustBalance(enforced.merchant.id, change, "dashboard Ada");
  };
  await topUp("bank-118", 40_000);
  for (const amount of [10_000, 15_000]) await enforced.createPayout({ amount, phoneNumber: "2250700000001" });
  await enforced.pass(24 * HOUR);
  const visitor = await signedIn(enforced);
  const page = `/m/${enforced.merchant.id}/balances`;
  await says(visitor.get(page), 200, /XOF 147\.50.*may run out within a day/);
  await topUp("bank-119", 10_250);
  await says(visitor.get(page), 200, not("may run out within a day"));
  await enforced.close();
});
