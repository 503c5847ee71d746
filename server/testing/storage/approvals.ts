import { describe, expect, test } from "vitest";
import type { ActorName } from "../../domain/audit.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { failureOf } from "../../domain/failures.ts";
import type { Limits } from "../../domain/limits.ts";
import type { Draft } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import { ACTOR, addMerchant, aDisbursement, aFinalDisbursement, aKey, concurrently, DAY, SECOND } from "./fixtures.ts";

/** An operator who has made no payout and no key. */
const GRACE = "dashboard Grace";
const FROM = { approvalFrom: { XOF: 1_000 } };
const NOT_APPROVED = { status: "failed", failure: { code: "not_approved", message: "The payment was not approved." } };

export function approvalTests(storage: Current): void {
  /** A merchant with a key that `by` created. The merchant or the key has limits. */
  async function asking({
    ofKey,
    ofMerchant,
    by = ACTOR,
  }: { ofKey?: Limits; ofMerchant?: Limits; by?: ActorName } = {}) {
    const merchant = await addMerchant(storage());
    const key = aKey(merchant.id);
    await storage().insertKey(key, by);
    if (ofMerchant) await storage().setMerchantLimits(merchant.id, ofMerchant, ACTOR);
    await storage().setKeyLimits(key.id, ofKey, ACTOR);
    return { id: merchant.id, from: { keyId: key.id, amount: 1_000, fee: 10 } };
  }
  const create = async (draft: Draft<Disbursement>) => (await storage().insertDisbursement(draft)).record;
  const find = async ({ merchantId, reference }: Disbursement) => storage().findDisbursement(merchantId, reference);
  const decide = ({ merchantId, reference }: Disbursement, actor: ActorName = GRACE, rejection?: string) =>
    storage().decideApproval(merchantId, reference, actor, rejection);
  const waiting = async (merchantId?: string) =>
    (await storage().listWaiting({ merchantId, limit: 10 })).map(({ reference }) => reference);
  const settle = async () => {
    while ((await storage().settleDue(10)) > 0);
  };
  const eventsOf = async (merchantId: string) =>
    (await storage().listEvents({ merchantId, limit: 10 })).items.map(({ type, body }) => [
      type,
      (JSON.parse(body) as { data: { failure?: object } }).data.failure,
    ]);
  const lastAction = async (merchantId: string) => (await storage().listAudit({ merchantId, limit: 1 })).items[0];

  test("a payout from the amount on waits, in another currency always, and a smaller payout does not", async () => {
    const { id, from } = await asking({ ofKey: FROM });
    const [waits, small, foreign] = [
      await create(aDisbursement(id, from)),
      await create(aFinalDisbursement(id, { ...from, amount: 999 })),
      await create(aFinalDisbursement(id, { ...from, amount: 1, currency: "NGN" })),
    ];
    expect([waits.status, small.status, foreign.status]).toEqual(["pending", "success", "pending"]);
    expect(await waiting(id)).toEqual([waits.reference, foreign.reference]);
    expect(await waiting()).toEqual([waits.reference, foreign.reference]);
    expect(await storage().listBalances(id)).toMatchObject([{ currency: "NGN" }, { reserved: 1_010 }]);
    storage.clock().advance(DAY - 1);
    await settle();
    expect(await find(waits)).toMatchObject({ status: "pending" });
    expect(await eventsOf(id)).toHaveLength(1);
  });

  describe("approved", () => {
    test("a payout of a live service is handed over to its rail, once", async () => {
      const { id, from } = await asking({ ofKey: FROM });
      const { due: _, ...draft } = aDisbursement(id, { ...from, rail: "bank" });
      const record = await create(draft);
      expect(await storage().findHandover(record.reference)).toBeUndefined();
      const results = await concurrently(8, () => decide(record));
      expect(results.toSorted()).toEqual(["decided", ...Array<string>(7).fill("not-waiting")]);
      expect(await storage().findHandover(record.reference)).toMatchObject({ rail: "bank", state: "waiting" });
      expect(await waiting()).toEqual([]);
      storage.clock().advance(2 * DAY);
      await settle();
      const found = await find(record);
      expect(found).toMatchObject({ status: "pending" });
      expect([found!.due, found!.failure, found!.approval]).toEqual([undefined, undefined, undefined]);
      const details = { reference: record.reference };
      expect(await lastAction(id)).toMatchObject({ actor: GRACE, action: "payment.approve", details });
    });

    test.each(["success", "failed"] as const)("a simulated payout ends as it would have: %s", async (status) => {
      const { id, from } = await asking({ ofMerchant: FROM });
      const failure = status === "failed" ? { failure: failureOf("declined") } : {};
      const atOnce = await create(aFinalDisbursement(id, { ...from, ...failure, status }));
      const later = await create(aDisbursement(id, { ...from, ...failure, due: { afterMs: 2 * SECOND, status } }));
      storage.clock().advance(DAY / 2);
      for (const record of [atOnce, later]) expect(await decide(record)).toBe("decided");
      await settle();
      expect(await find(atOnce)).toMatchObject({ status, ...failure });
      expect(await find(later)).toMatchObject({ status: "pending" });
      storage.clock().advance(2 * SECOND);
      await settle();
      expect(await find(later)).toMatchObject({ status, ...failure });
      const reserved = status === "success" ? -2_020 : 0;
      expect(await storage().listBalances(id)).toMatchObject([{ available: reserved, reserved: 0 }]);
    });
  });

  test("a rejected payout fails at once: its balance is released, and its event written, in one commit", async () => {
    const { id, from } = await asking({ ofKey: FROM });
    const record = await create(aDisbursement(id, { ...from, rail: "bank" }));
    expect(await decide(record, GRACE, "Wrong recipient")).toBe("decided");
    const failed = await find(record);
    expect(failed).toMatchObject({ ...NOT_APPROVED, updatedAt: storage.clock().now() });
    expect(await storage().listBalances(id)).toMatchObject([{ available: 0, reserved: 0 }]);
    expect(await eventsOf(id)).toEqual([["disbursement.failed", NOT_APPROVED.failure]]);
    expect(await lastAction(id)).toMatchObject({ action: "payment.reject", details: { reason: "Wrong recipient" } });
    expect(await decide(record)).toBe("not-waiting");
    expect(await storage().findHandover(record.reference)).toBeUndefined();
  });

  test("a payout that nobody approves within 24 hours fails, and cannot be approved any more", async () => {
    const { id, from } = await asking({ ofKey: FROM });
    const record = await create(aDisbursement(id, from));
    storage.clock().advance(DAY);
    expect(await decide(record)).toBe("not-waiting");
    await settle();
    expect(await find(record)).toMatchObject(NOT_APPROVED);
    expect(await storage().listBalances(id)).toMatchObject([{ available: 0, reserved: 0 }]);
    expect(await eventsOf(id)).toEqual([["disbursement.failed", NOT_APPROVED.failure]]);
    expect(await waiting()).toEqual([]);
  });

  test.each<[string, Parameters<typeof asking>[0], Partial<Draft<Disbursement>>, ActorName, string]>([
    ["who created the key", { ofKey: FROM, by: "command ada@host" }, {}, "command ada@host", "own"],
    ["who created the key at a terminal", { ofKey: FROM, by: "command ada@host" }, {}, "merchant Ada", "own"],
    ["who created the key in the dashboard", { ofMerchant: FROM, by: "dashboard Grace" }, {}, "dashboard Grace", "own"],
    ["who sent the form", { ofMerchant: FROM }, { madeBy: "dashboard Alan" }, "dashboard Alan", "own"],
    ["of the merchant, for its limit", { ofMerchant: FROM, ofKey: FROM }, {}, "merchant Esi", "operators-only"],
    ["of the merchant, for the key's limit", { ofKey: FROM }, {}, "merchant Esi", "decided"],
    ["else, if a server created the key", { ofKey: FROM, by: "server ada@host" }, {}, "command ada@host", "decided"],
  ])("a person %s may approve or not", async (_name, limits, changes, actor, expected) => {
    const { id, from } = await asking(limits);
    const record = await create(aDisbursement(id, { ...from, ...changes }));
    const before = await lastAction(id);
    expect(await decide(record, actor)).toBe(expected);
    expect(await waiting(id)).toHaveLength(expected === "decided" ? 0 : 1);
    if (expected !== "decided") expect(await lastAction(id)).toEqual(before);
    // The person who made a payout may take it back.
    if (expected === "own") expect(await decide(record, actor, "A mistake")).toBe("decided");
  });

  test.each(["suspended", "closed"] as const)(
    "the people of a %s merchant reject, and approve nothing",
    async (state) => {
      const { id, from } = await asking({ ofKey: FROM });
      const [one, other] = [await create(aDisbursement(id, from)), await create(aDisbursement(id, from))];
      await storage().setMerchantState(id, state, ACTOR);
      expect([await decide(one, "merchant Esi"), await decide(other, GRACE)]).toEqual(["suspended", "decided"]);
      expect(await decide(one, "merchant Esi", "A mistake")).toBe("decided");
    },
  );

  test("a payout of another merchant, of before a reset or of no service does not wait", async () => {
    const { id, from } = await asking({ ofKey: FROM });
    const { reference } = await create(aDisbursement(id, from));
    const { id: other } = await asking();
    expect(await storage().decideApproval(other, reference, GRACE)).toBe("not-waiting");
    expect(await storage().decideApproval(id, "DSBnothing", GRACE)).toBe("not-waiting");
    await storage().reset(id);
    expect(await storage().decideApproval(id, reference, GRACE)).toBe("not-waiting");
    expect(await waiting()).toEqual([]);
  });
}
