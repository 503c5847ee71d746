// Decisions that need a person, or two, on a live service: payouts and changes of balances that wait for approval, and
// payments that end by hand (D74, D93).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { done, not, openDashboard, says } from "../../testing/dashboard.ts";
import { enter, signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf } from "../../testing/rail.ts";
import { start } from "../../testing/table.ts";

const rail = createTestRail();
const env = { SANDBOX: "false", BALANCE_APPROVAL_FROM: "XOF:1000000" };
const { server, id, area, ada, kofi, close } = await openDashboard({ env, rails: railsOf(rail) });
const { storage } = server;
await storage.setMerchantLimits(id, { approvalFrom: { XOF: 10_000, GHS: 1 } }, "command ada@host");
afterAll(close);

const create = async (changes = {}): Promise<string> => (await server.createPayout(changes)).body.data.reference;
const statusOf = async (reference: string) => (await storage.findDisbursement(id, reference))!.status;
const payment = (reference: string) => ({ payment: `${id}/${reference}` });
const approve = (visitor: Visitor, reference: string) => visitor.post(`${area}/approvals/approve`, payment(reference));
const BY_HAND = { status: "failed", reason: "not in the rail's books" };
const silenceRail = () => {
  rail.answers.push(new Error("time-out"));
  rail.found.push(new Error("time-out"));
};

test("a payout that waits is paid once approved, only by an operator if its merchant's limit held it", async () => {
  const [first, second] = [await create(), await create({ amount: 2_500_000 })];
  const [third, small] = [await create({ currency: "GHS", amount: 5 }), await create({ amount: 9_999 })];
  await server.pass(1_000);
  expect(await Promise.all([first, small].map(statusOf))).toEqual(["pending", "success"]);
  const totals = ["GHS 0.05, 1 payout", "XOF 25,100.00, 2 payouts"];
  await says(ada.get("/approvals"), 200, first, second, third, "+225 70 38 10 24 73", ...totals, not(small));
  const chosen = [first, second].map((each) => `payment=${id}/${each}`).join("&");
  await says(ada.get(`/approvals/approve?${chosen}`), 200, "Approve payouts?", totals[1]!);
  await says(ada.get(`/approvals/reject?${chosen}`), 200, "Reject payouts?", "not_approved");
  const waits = ["Waits for an operator: a limit of its merchant.", "Fails unless somebody approves it"];
  await says(kofi.get(`${area}/disbursements/${first}`), 200, ...waits);
  await says(approve(kofi, first), 200, "an operator decides");
  await says(kofi.post("/approvals/approve", payment(first)), 404);
  expect(await statusOf(first)).toBe("pending");
  for (const each of [first, second]) await says(approve(ada, each), 200, "Payouts approved: 1.");
  await server.pass(1_000);
  expect(await Promise.all([first, second, third].map(statusOf))).toEqual(["success", "success", "pending"]);
  await says(approve(ada, first), 200, "Payouts not decided: 1. It does not wait for approval any more.");
  await says(ada.get(`/approvals/approve?payment=${id}/${first}`), 422);
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
      const { text } = await approve(other, reference);
      const isLeft = (await storage.listWaiting({ limit: 500 })).some((each) => each.reference === reference);
      expect(text).toContain(isLeft ? "a sign-in link connects you with the person who did" : "Payouts approved: 1.");
      return !isLeft;
    },
    async "a change of a balance"(one, other) {
      const name = `change-${(number += 1)}`;
      const form = { id: name, kind: "top-up", amount: "1000000", currency: "XOF", reason: "Bank transfer" };
      await done(one.post(`${area}/balances/adjust`, form));
      await other.post("/balances/approve", { proposal: `${id}/${name}` });
      return !(await storage.listProposals()).some((proposal) => proposal.id === name);
    },
    async "a payment that ends by hand"(one, other) {
      // What was approved before is handed over now.
      await server.pass(0);
      silenceRail();
      const reference = await create({ amount: 9_000 });
      await server.pass(0);
      for (const visitor of [one, other]) await done(visitor.post(`${area}/payments/${reference}/decide`, BY_HAND));
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
    ])("can be one %s (%s, then %s): %s", async (_who, one, other, expected) => {
      expect(await takesEffect(people.get(one)!, people.get(other)!)).toBe(expected);
    });
  });

  // The same operator let in Esi and Yaw.
  test.each([
    ["Esi", "Yaw", true],
    ["Esi", "Ama", false],
    ["Esi", "Esi", false],
  ])("of a merchant, after %s, can be %s: %s", async (one, other, expected) => {
    expect(await decisions["a payout"]!(people.get(one)!, people.get(other)!)).toBe(expected);
  });
});

test("one operator ends a payment alone if a setting says so, which every page shows", async () => {
  const alone = await openDashboard({ env: { ...env, ONE_OPERATOR_DECIDES: "true" }, rails: railsOf(rail) });
  const { ada: operator, area: at, server: own } = alone;
  silenceRail();
  const { reference } = (await own.createPayout()).body.data;
  await own.pass(0);
  for (const page of ["", "/attention", `${at}/disbursements/${reference}`])
    await says(operator.get(page), 200, "One operator suffices");
  await done(operator.post(`${at}/payments/${reference}/decide`, BY_HAND));
  expect(await own.storage.findHandover(reference)).toMatchObject({ status: "failed", state: "closed" });
  await alone.close();
});

test("a payment says that it waits until somebody resumes its rail", async () => {
  const maintenance = { reason: "Maintenance" };
  await says(ada.post("/rails/other/pause", maintenance), 404);
  await done(ada.post("/rails/test/pause", maintenance));
  await server.pass(5_000);
  const page = `${area}/disbursements/${await create({ amount: 9_000 })}`;
  const waits = ["Not yet given to the rail", "Rail test: paused since", "until an operator resumes it"];
  await says(ada.get(page), 200, ...waits);
  await done(ada.post("/rails/test/resume"));
  await says(ada.get(page), 200, not("paused"));
});

test("a balance is changed by hand after a confirmation page, from an amount on by two people", async () => {
  const { merchant } = await server.addMerchant("Ama Stores");
  const finance = await signedIn(server, { name: "Esther", role: "finance" });
  const at = `/m/${merchant.id}/balances/adjust`;
  const topUp = { kind: "top-up", currency: "XOF", reason: "Bank transfer 118" };
  const asked = (changes: object) => finance.get(`${at}?${new URLSearchParams({ ...topUp, ...changes })}`);
  const adjust = async (changes: object) => done(finance.post(at, (await asked(changes)).hidden("/adjust")));
  await says(asked({ amount: "999999" }), 200, "Available now: XOF 0.00. Available then: XOF 9,999.99");
  await adjust({ amount: "999999" });
  await says(asked({ kind: "withdraw", amount: "1000000" }), 200, "Somebody else must approve it");
  for (const wrong of [{ amount: "-5" }, { currency: "xof" }, { reason: " " }, { kind: "both" }])
    await says(asked({ amount: "1", ...wrong }), 422);
  // Without an approval amount, it always takes two.
  for (const changes of [{ amount: "1000000" }, { amount: "1", currency: "GHS" }]) await adjust(changes);
  const balances = async () => (await storage.listBalances(merchant.id)).map(({ available }) => available);
  expect(await balances()).toEqual([999_999]);
  const proposals = (await storage.listProposals()).filter((each) => each.merchantId === merchant.id);
  const large = { proposal: `${merchant.id}/${proposals.find(({ currency }) => currency === "XOF")!.id}` };
  await says(finance.post("/balances/approve", large), 409, "Somebody else must approve it");
  const waits = "Changes of balances wait for a second person.";
  const overview = `/m/${merchant.id}/overview`;
  for (const page of ["/overview", overview]) await says(ada.get(page), 200, waits);
  const own = await signedIn(server, { merchantId: merchant.id, name: "Own" });
  await says(own.get(overview), 200, not(waits));
  await says(ada.get("/balances"), 200, "Bank transfer 118");
  for (let count = 0; count < 2; count += 1) await done(ada.post("/balances/approve", large));
  expect(await balances()).toEqual([1_999_999]);
});

test("a balance below the payouts of the busiest recent day may run out within a day", async () => {
  const enforced = await start({ env: { BALANCES: "enforced" } });
  const topUp = (name: string, amount: number) => {
    const change = { id: name, currency: "XOF", amount, reason: "Bank" };
    return enforced.storage.adjustBalance(enforced.merchant.id, change, "dashboard Ada");
  };
  await topUp("bank-118", 40_000);
  for (const amount of [10_000, 15_000]) await enforced.createPayout({ amount, phoneNumber: "2250700000001" });
  await enforced.pass(86_400_000);
  const visitor = await signedIn(enforced);
  const page = `/m/${enforced.merchant.id}/balances`;
  await says(visitor.get(page), 200, /XOF 147\.50.*may run out within a day/);
  await topUp("bank-119", 10_250);
  await says(visitor.get(page), 200, not("may run out within a day"));
});
