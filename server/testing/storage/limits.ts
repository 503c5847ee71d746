import { describe, expect, test } from "vitest";
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
  DAY,
  pendingOn,
  SECOND,
  type Current,
} from "./fixtures.ts";

type Changes = Partial<Draft<Disbursement>>;
interface Limited {
  ofKey?: Limits;
  ofMerchant?: Limits;
  /** Who has made the key. */
  by?: ActorName;
}

const to = (phoneNumber: string) => ({ customer: { phoneNumber } });

/** Makes a merchant and a key, each with limits or without. */
async function limited({ storage, merchant }: Current, { ofKey, ofMerchant, by = ACTOR }: Limited = {}) {
  const { id } = await merchant();
  const key = aKey(id);
  await storage.insertKey(key, by);
  const limitKey = (limits?: Limits) => storage.setKeyLimits(key.id, limits, ACTOR);
  const limitMerchant = (limits?: Limits) => storage.setMerchantLimits(id, limits, ACTOR);
  if (ofKey) expect(await limitKey(ofKey)).toBe(true);
  if (ofMerchant) await limitMerchant(ofMerchant);
  const create = (changes: Changes = {}) =>
    storage.insertDisbursement(aDisbursement(id, { keyId: key.id, amount: 100, fee: 1, ...changes }));
  return { id, keyId: key.id, limitKey, limitMerchant, create };
}

export function limitTests(current: Current): void {
  const { storage, pass, now } = current;

  test.each<[Limits, Changes, Changes, string]>([
    [{ perPayment: { XOF: 100 } }, {}, { amount: 101 }, "per payment XOF:100"],
    [{ perPayment: { XOF: 100 } }, {}, { amount: 1, currency: "NGN" }, "per payment XOF:100"],
    [{ perDay: { XOF: 150 } }, {}, { amount: 51 }, "per day (UTC) XOF:150, of which 100 XOF are used"],
    [{ perDay: { XOF: 150 } }, {}, { currency: "NGN" }, "per day (UTC) XOF:150, of which 0 NGN are used"],
    [{ countries: ["CI", "GH"] }, { country: "GH" }, { country: "NG" }, "countries CI, GH"],
    [{ currencies: ["XOF"] }, {}, { currency: "GHS" }, "currencies XOF"],
    [{ recipients: ["2250700000009"] }, to("2250700000009"), to("2250700000008"), "only certain recipients"],
  ])("%j of a key or merchant permit a payout, and refuse another", async (limits, permitted, beyond, broken) => {
    for (const [which, owner] of [
      ["ofKey", "this API key"],
      ["ofMerchant", "your merchant account"],
    ] as const) {
      const { create, limitKey, limitMerchant } = await limited(current, { [which]: limits });
      expect(await create(permitted)).toMatchObject({ inserted: true });
      const phoneNumber = beyond.customer?.phoneNumber ?? "2250700000077";
      const draft = { ...beyond, ...to(phoneNumber), merchantsReference: "beyond", rail: "bank" };
      const { inserted, refusal } = await create(draft);
      const message = `A limit of ${owner} refuses this payout: ${broken}.`;
      expect([inserted, refusal?.code, refusal?.message]).toEqual([false, "limit_exceeded", message]);
      await (which === "ofKey" ? limitKey : limitMerchant)();
      expect(await create(draft)).toMatchObject({ inserted: true, record: { customer: { phoneNumber } } });
    }
  });

  test("a payout must keep the limits of both; other keys and the dashboard have only the merchant's", async () => {
    const limits = { ofKey: { perDay: { XOF: 150 } }, ofMerchant: { perDay: { XOF: 350 } } };
    const { id, create } = await limited(current, limits);
    const other = { keyId: (await current.key(id)).id };
    for (const [made, refused] of [
      [await create(), ""],
      [await create(), "this API key"],
      [await create(other), ""],
      [await storage.insertDisbursement(aDisbursement(id, { amount: 100 })), ""],
      [await create(other), "of which 300 XOF are used"],
      [await create({ amount: 50 }), ""],
    ] as const)
      expect(made).toMatchObject(
        refused === "" ? { inserted: true } : { refusal: { message: expect.stringContaining(refused) } },
      );
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
    await storage.reset(id);
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
        const [first, known, last] = await Promise.all(
          [sent, { ...sent, merchantsReference: "known" }, sent].map(insert),
        );
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

  test("a payout from the amount on waits, in another currency always, and a smaller payout does not", async () => {
    const { id, from } = await asking();
    const waits = await create(aDisbursement(id, from));
    const small = await create(aFinalDisbursement(id, { ...from, amount: 999 }));
    const foreign = await create(aFinalDisbursement(id, { ...from, amount: 1, currency: "NGN" }));
    expect([waits.status, small.status, foreign.status]).toEqual(["pending", "success", "pending"]);
    for (const of of [id, undefined]) expect(await waiting(of)).toEqual([waits.reference, foreign.reference]);
    expect(await storage.listBalances(id)).toMatchObject([{ currency: "NGN" }, { reserved: 1_010 }]);
    pass(DAY - 1);
    await settleAll();
    expect(await find(waits)).toMatchObject({ status: "pending" });
    expect(await current.events(id)).toHaveLength(1);
  });

  describe("approved", () => {
    test("a payout of a live service is handed over to its rail, once", async () => {
      const { id, from } = await asking();
      const record = await create(pendingOn("bank", id, from));
      expect(await storage.findHandover(record.reference)).toBeUndefined();
      const results = await concurrently(8, () => decide(record));
      expect(results.toSorted()).toEqual(["decided", ...Array<string>(7).fill("not-waiting")]);
      expect(await storage.findHandover(record.reference)).toMatchObject({ rail: "bank", state: "waiting" });
      expect(await waiting()).toEqual([]);
      pass(2 * DAY);
      await settleAll();
      const { status, due, failure, approval } = (await find(record))!;
      expect([status, due, failure, approval]).toEqual(["pending", undefined, undefined, undefined]);
      const details = { reference: record.reference };
      expect((await audit(id))[0]).toMatchObject({ actor: GRACE, action: "payment.approve", details });
    });

    test.each(["success", "failed"] as const)("a simulated payout ends as it would have: %s", async (status) => {
      const { id, from } = await asking({ ofMerchant: FROM });
      const failure = status === "failed" ? { failure: failureOf("declined") } : {};
      const atOnce = await create(aFinalDisbursement(id, { ...from, ...failure, status }));
      const later = await create(aDisbursement(id, { ...from, ...failure, due: { afterMs: 2 * SECOND, status } }));
      pass(DAY / 2);
      for (const record of [atOnce, later]) expect(await decide(record)).toBe("decided");
      await settleAll();
      expect(await find(atOnce)).toMatchObject({ status, ...failure });
      expect(await find(later)).toMatchObject({ status: "pending" });
      pass(2 * SECOND);
      await settleAll();
      expect(await find(later)).toMatchObject({ status, ...failure });
      const available = status === "success" ? -2_020 : 0;
      expect(await storage.listBalances(id)).toMatchObject([{ available, reserved: 0 }]);
    });
  });

  test("a payout that is rejected, or that nobody approves within 24 hours, fails with its event, for good", async () => {
    const { id, from } = await asking();
    const rejected = await create(aDisbursement(id, { ...from, rail: "bank" }));
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
    const before = await audit(id);
    expect(await decide(record, actor)).toBe(expected);
    expect(await waiting(id)).toHaveLength(expected === "decided" ? 0 : 1);
    if (expected !== "decided") expect(await audit(id)).toEqual(before);
    // The person who made a payout may take it back.
    if (expected === "own") expect(await decide(record, actor, "A mistake")).toBe("decided");
  });

  test.each(["suspended", "closed"] as const)(
    "the people of a %s merchant reject, and approve nothing",
    async (state) => {
      const { id, from } = await asking();
      const [one, other] = [await create(aDisbursement(id, from)), await create(aDisbursement(id, from))];
      await storage.setMerchantState(id, state, ACTOR);
      expect([await decide(one, "merchant Esi"), await decide(other, GRACE)]).toEqual(["suspended", "decided"]);
      expect(await decide(one, "merchant Esi", "A mistake")).toBe("decided");
    },
  );

  test("a payout of another merchant, of before a reset or of no service does not wait", async () => {
    const { id, from } = await asking();
    const { reference } = await create(aDisbursement(id, from));
    const { id: other } = await asking();
    expect(await storage.decideApproval(other, reference, GRACE)).toBe("not-waiting");
    expect(await storage.decideApproval(id, "DSBnothing", GRACE)).toBe("not-waiting");
    await storage.reset(id);
    expect(await storage.decideApproval(id, reference, GRACE)).toBe("not-waiting");
    expect(await waiting()).toEqual([]);
  });
}
