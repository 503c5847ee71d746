import { expect, test } from "vitest";
import type { ActorName } from "../../domain/audit.ts";
import { failureOf, type Checkout, type Disbursement, type Draft } from "../../domain/records.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Limits } from "../../domain/limits.ts";
import {
  aCheckout,
  ACTOR,
  aDisbursement,
  aFinalDisbursement,
  aKey,
  concurrently,
  KOFI,
  pendingOn,
  type Current,
} from "./fixtures.ts";
import { DAY, SECOND } from "../times.ts";

type Changes = Partial<Draft<Disbursement>>;
interface Limited {
  ofKey?: Limits;
  ofMerchant?: Limits;
  /** Who has made the key. */
  by?: ActorName;
  /** What becomes of the merchant after a payout. */
  state?: "suspended" | "closed";
}

/** Makes a merchant and a key, each with limits or without. */
async function limited({ storage, merchant }: Current, { ofKey, ofMerchant, by = ACTOR }: Limited = {}) {
  const { id } = await merchant();
  const key = aKey(id);
  await storage.insertKey(key, by);
  const limitKey = (limits?: Limits) => storage.setKeyLimits(key.id, limits, ACTOR);
  if (ofKey) await limitKey(ofKey);
  if (ofMerchant) await storage.setMerchantLimits(id, ofMerchant, ACTOR);
  const create = (changes: Changes = {}) =>
    storage.insertDisbursement(aDisbursement(id, { keyId: key.id, amount: 100, fee: 1, ...changes }));
  return { id, keyId: key.id, limitKey, create };
}

export function limitTests(current: Current): void {
  const { storage, pass, now } = current;

  test("a payout must keep the limits of both; other keys and the dashboard have only the merchant's", async () => {
    const limits = { ofKey: { perDay: { XOF: 150 } }, ofMerchant: { perDay: { XOF: 450 } } };
    const { id, create, limitKey } = await limited(current, limits);
    const other = { keyId: (await current.key(id)).id };
    const fromDashboard = () => storage.insertDisbursement(aDisbursement(id, { amount: 100 }));
    for (const result of [create(), create(other), fromDashboard(), create({ amount: 50 })])
      expect(await result).toMatchObject({ inserted: true });
    const [ofKey, ofMerchant] = [await create(), await create({ ...other, amount: 101 })];
    expect(ofKey.refusal?.message).toMatch(/this API key .* of which 150 XOF are used/);
    expect(ofMerchant.refusal?.message).toMatch(/your merchant account .* of which 350 XOF are used/);
    await limitKey();
    expect(await create()).toMatchObject({ inserted: true });
  });

  test("a day ends at midnight UTC, and what the balance refuses does not count", async () => {
    const { create } = await limited(current, { ofKey: { perDay: { XOF: 100 } } });
    expect((await create({ mustBeCovered: true })).refusal?.code).toBe("insufficient_funds");
    expect((await create()).inserted).toBe(true);
    pass(DAY - (now() % DAY) - 1);
    expect((await create()).refusal?.code).toBe("limit_exceeded");
    pass(1);
    expect((await create()).inserted).toBe(true);
  });

  test("accepts exactly as many concurrent payouts as the limit of a day permits", async () => {
    const { id, create } = await limited(current, { ofKey: { perDay: { XOF: 10_000 } } });
    const results = await concurrently(200, () => create());
    expect(results.filter(({ inserted }) => inserted)).toHaveLength(100);
    expect(results.filter(({ refusal }) => refusal?.code === "limit_exceeded")).toHaveLength(100);
    expect(await storage.listBalances(id)).toMatchObject([{ available: -10_100, reserved: 10_100 }]);
    await storage.reset(id, ACTOR);
    expect((await create()).inserted).toBe(true);
  });

  const REFUSALS: [code: string, who: string, begin: (merchantId: string, keyId: string) => Promise<unknown>][] = [
    ["merchant_suspended", "the merchant's state", (id) => storage.setMerchantState(id, "suspended", ACTOR)],
    ["limit_exceeded", "a limit of the merchant", (id) => storage.setMerchantLimits(id, { countries: [] }, ACTOR)],
    ["limit_exceeded", "a limit of the key", (_, key) => storage.setKeyLimits(key, { countries: [] }, ACTOR)],
    ["insufficient_funds", "the balance", async () => ({ mustBeCovered: true })],
    ["not_served", "the request", async () => ({ refusal: new ServiceError("not_served", "Nothing was recorded.") })],
    ["unauthorized", "the revocation of its key", (_, key) => storage.revokeKey(key, 1, ACTOR)],
  ];
  test.each(REFUSALS)(
    "%s by %s refuses new references, and only a revoked key is told so of a known one",
    async (code, _who, begin) => {
      const isOfPayouts = code === "limit_exceeded" || code === "insufficient_funds";
      for (const kind of isOfPayouts ? ["payout"] : ["payout", "checkout"]) {
        const { id, keyId, create } = await limited(current);
        const insert = (changes: Partial<Draft<Disbursement & Checkout>> = {}) =>
          kind === "payout"
            ? create(changes)
            : storage.insertCheckout(aCheckout(id, { keyId, ...changes } as Partial<Draft<Checkout>>));
        const { record } = await insert({ merchantsReference: "known" });
        const changes = await begin(id, keyId);
        const sent = { ...(typeof changes === "object" && changes), rail: "bank" };
        // They share a batch.
        const batch = [sent, { ...sent, merchantsReference: "known" }, sent];
        const [first, known, last] = await Promise.all(batch.map(insert));
        for (const refused of [first, last, ...(code === "unauthorized" ? [known] : [])]) {
          expect(refused).toMatchObject({ inserted: false, refusal: { code } });
          expect(await storage.findHandover(refused!.record.reference)).toBeUndefined();
        }
        if (code !== "unauthorized") expect(known).toEqual({ inserted: false, record });
        const query = { merchantId: id, limit: 10 };
        const list = kind === "payout" ? storage.listDisbursements(query) : storage.listCheckouts(query);
        expect((await list).items).toEqual([record]);
      }
    },
  );
}

/** An operator who has made no payout and no key. */
const GRACE = "dashboard Grace";
const FROM = { approvalFrom: { XOF: 1_000 } };
const NOT_APPROVED = { status: "failed", failure: { code: "not_approved", message: "The payment was not approved." } };

export function approvalTests(current: Current): void {
  const { storage, pass, now, settleAll, audit } = current;
  const asking = async (limits: Limited = { ofKey: FROM }) => {
    const { id, keyId } = await limited(current, limits);
    return { id, from: { keyId, amount: 1_000, fee: 10 } };
  };
  const create = async (draft: Draft<Disbursement>) => (await storage.insertDisbursement(draft)).record;
  const find = async ({ merchantId, reference }: Disbursement) => storage.findDisbursement(merchantId, reference);
  const decide = ({ merchantId, reference }: Disbursement, actor: ActorName = GRACE, rejection?: string) =>
    storage.decideApproval(merchantId, reference, actor, rejection);
  const waiting = async (merchantId?: string) =>
    (await storage.listWaiting({ merchantId, limit: 10 })).map(({ reference }) => reference);
  /** Expects that the merchant's payout has failed, with its event, and that its balance was released. */
  async function expectFailed(record: Disbursement) {
    const { merchantId: id } = record;
    expect(await find(record)).toMatchObject({ ...NOT_APPROVED, updatedAt: now() });
    expect(await storage.listBalances(id)).toMatchObject([{ available: 0, reserved: 0 }]);
    const events = (await current.events(id)).map(({ body }) => JSON.parse(body));
    expect(events).toMatchObject([{ event: "disbursement.failed", data: { failure: NOT_APPROVED.failure } }]);
    expect([await decide(record), await waiting(id)]).toEqual(["not-waiting", []]);
    expect(await storage.findHandover(record.reference)).toBeUndefined();
  }

  test("a payout of a live service is handed over to its rail once it is approved, and once", async () => {
    const { id, from } = await asking();
    const record = await create(pendingOn("bank", id, from));
    expect(await storage.findHandover(record.reference)).toBeUndefined();
    const results = await concurrently(8, () => decide(record));
    expect(results.toSorted()).toEqual(["decided", ...Array<string>(7).fill("not-waiting")]);
    expect(await storage.findHandover(record.reference)).toMatchObject({ rail: "bank", state: "waiting" });
    pass(2 * DAY);
    await settleAll();
    const { status, due, failure, approval } = (await find(record))!;
    expect([status, due, failure, approval]).toEqual(["pending", undefined, undefined, undefined]);
    const details = { reference: record.reference };
    expect((await audit(id))[0]).toMatchObject({ actor: GRACE, action: "payment.approve", details });
  });

  test.each(["success", "failed"] as const)(
    "a simulated payout waits from the amount on, in another currency always, and ends as it would have: %s",
    async (status) => {
      const { id, from } = await asking({ ofMerchant: FROM });
      const how = { ...from, status, ...(status === "failed" && { failure: failureOf("declined") }) };
      const small = await create(aFinalDisbursement(id, { ...how, amount: 999 }));
      const foreign = await create(aFinalDisbursement(id, { ...how, amount: 1, currency: "NGN" }));
      const due = { afterMs: 2 * SECOND, status };
      const later = await create(aDisbursement(id, { ...how, status: "pending", due }));
      pass(DAY - 1);
      await settleAll();
      const waits = [foreign, later].map(({ reference }) => reference).toSorted();
      for (const of of [id, undefined]) expect((await waiting(of)).toSorted()).toEqual(waits);
      for (const record of [foreign, later]) expect(await decide(record)).toBe("decided");
      await settleAll();
      const { failure } = how;
      for (const record of [small, await find(foreign)]) expect(record).toMatchObject({ status });
      expect(await find(later)).toMatchObject({ status: "pending" });
      pass(2 * SECOND);
      await settleAll();
      for (const record of [foreign, later])
        expect(await find(record)).toMatchObject({ status, ...(failure && { failure }) });
      const [naira, francs] = status === "success" ? [-11, -2_019] : [0, 0];
      const balances = [naira, francs].map((available) => ({ available, reserved: 0 }));
      expect(await storage.listBalances(id)).toMatchObject(balances);
    },
  );

  test("a payout that is rejected, or that nobody approves within 24 hours, fails with its event, for good", async () => {
    const { id, from } = await asking();
    const rejected = await create(aDisbursement(id, { ...from, rail: "bank" }));
    expect(await storage.finishDisbursement(id, rejected.reference, "success")).toBe(false);
    expect(await decide(rejected, GRACE, "Wrong recipient")).toBe("decided");
    const details = { reason: "Wrong recipient" };
    expect((await audit(id))[0]).toMatchObject({ action: "payment.reject", details });
    await expectFailed(rejected);
    const other = await asking();
    const forgotten = await create(aDisbursement(other.id, other.from));
    pass(DAY);
    expect(await decide(forgotten)).toBe("not-waiting");
    await settleAll();
    await expectFailed(forgotten);
  });

  test.each<[string, Limited, Changes, ActorName, string]>([
    ["who created the key", { ofKey: FROM }, {}, ACTOR, "own"],
    ["who created the key at a terminal", { ofKey: FROM }, {}, "merchant Ada", "own"],
    ["who sent the form", { ofMerchant: FROM }, { madeBy: "dashboard Alan" }, "dashboard Alan", "own"],
    ["of a suspended merchant", { ofKey: FROM, state: "suspended" }, {}, "merchant Esi", "suspended"],
    ["of a closed merchant", { ofKey: FROM, state: "closed" }, {}, "merchant Esi", "suspended"],
    ["who operates the service of a closed merchant", { ofKey: FROM, state: "closed" }, {}, GRACE, "decided"],
    ["else, if a server created the key", { ofKey: FROM, by: "server ada@host" }, {}, ACTOR, "decided"],
  ])("a person %s may approve or not", async (_name, { state, ...limits }, changes, actor, expected) => {
    const { id, from } = await asking(limits);
    const record = await create(aDisbursement(id, { ...from, ...changes }));
    if (state) await storage.setMerchantState(id, state, ACTOR);
    const before = await audit(id);
    expect(await storage.decideApproval(KOFI, record.reference, actor)).toBe("not-waiting");
    expect(await decide(record, actor)).toBe(expected);
    expect(await waiting(id)).toHaveLength(expected === "decided" ? 0 : 1);
    if (expected === "decided") return;
    expect(await audit(id)).toEqual(before);
    // The person who made a payout may take it back, and the people of a suspended merchant may reject it.
    expect(await decide(record, actor, "A mistake")).toBe("decided");
  });
}
