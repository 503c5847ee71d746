import { expect, test } from "vitest";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Limits } from "../../domain/limits.ts";
import type { Draft } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import { aCheckout, ACTOR, addKey, addMerchant, aDisbursement, concurrently, DAY } from "./fixtures.ts";

type Changes = Partial<Draft<Disbursement>>;

const to = (phoneNumber: string) => ({ customer: { phoneNumber } });

export function limitTests(storage: Current): void {
  /** A merchant and a key, each with limits or without. */
  async function limited({ ofKey, ofMerchant }: { ofKey?: Limits; ofMerchant?: Limits }) {
    const merchant = await addMerchant(storage());
    const key = await addKey(storage(), merchant.id);
    if (ofKey) expect(await storage().setKeyLimits(key.id, ofKey, ACTOR)).toBe(true);
    if (ofMerchant) await storage().setMerchantLimits(merchant.id, ofMerchant, ACTOR);
    const create = (changes: Changes = {}) =>
      storage().insertDisbursement(aDisbursement(merchant.id, { keyId: key.id, amount: 100, fee: 1, ...changes }));
    return { merchant, key, create };
  }

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
      const { merchant, create } = await limited({ [which]: limits });
      expect(await create(permitted)).toMatchObject({ inserted: true });
      const phoneNumber = beyond.customer?.phoneNumber ?? "2250700000077";
      const draft = { ...beyond, ...to(phoneNumber), merchantsReference: "beyond", rail: "bank" };
      const { inserted, refusal, record } = await create(draft);
      const message = `A limit of ${owner} refuses this payout: ${broken}.`;
      expect([inserted, refusal?.code, refusal?.message]).toEqual([false, "limit_exceeded", message]);
      expect(await storage().findDisbursementByMerchantsReference(merchant.id, "beyond")).toBeUndefined();
      expect(await storage().findHandover(record.reference)).toBeUndefined();
      if (which === "ofKey")
        await storage().setKeyLimits((await storage().listKeysOf(merchant.id))[0]!.id, undefined, ACTOR);
      else await storage().setMerchantLimits(merchant.id, undefined, ACTOR);
      expect(await create(draft)).toMatchObject({ inserted: true, record: { customer: { phoneNumber } } });
      // A duplicate is refused as a duplicate, whatever the limits are now.
      await storage().setMerchantLimits(merchant.id, { currencies: [] }, ACTOR);
      expect(await create(draft)).toEqual({
        inserted: false,
        record: expect.objectContaining({ merchantsReference: "beyond" }),
      });
    }
  });

  test("a payout must keep the limits of both; other keys and the dashboard have only the merchant's", async () => {
    const { merchant, create } = await limited({
      ofKey: { perDay: { XOF: 150 } },
      ofMerchant: { perDay: { XOF: 350 } },
    });
    const other = await addKey(storage(), merchant.id);
    expect((await create()).inserted).toBe(true);
    expect((await create()).refusal?.message).toMatch("this API key");
    expect((await create({ keyId: other.id })).inserted).toBe(true);
    const { keyId: _, ...fromDashboard } = aDisbursement(merchant.id, { amount: 100 });
    expect((await storage().insertDisbursement(fromDashboard)).inserted).toBe(true);
    expect((await create({ keyId: other.id })).refusal?.message).toMatch("of which 300 XOF are used");
    expect((await create({ amount: 50 })).inserted).toBe(true);
  });

  test("a day ends at midnight UTC, and what the balance refuses does not count", async () => {
    const { create } = await limited({ ofKey: { perDay: { XOF: 100 } } });
    expect((await create({ mustBeCovered: true })).refusal?.code).toBe("insufficient_funds");
    expect((await create()).inserted).toBe(true);
    storage.clock().advance(DAY - (storage.clock().now() % DAY) - 1);
    expect((await create()).refusal?.code).toBe("limit_exceeded");
    storage.clock().advance(1);
    expect((await create()).inserted).toBe(true);
  });

  test("accepts exactly as many concurrent payouts as the limit of a day permits", async () => {
    const { merchant, create } = await limited({ ofKey: { perDay: { XOF: 10_000 } } });
    const results = await concurrently(200, () => create());
    expect(results.filter(({ inserted }) => inserted)).toHaveLength(100);
    expect(results.filter(({ refusal }) => refusal?.code === "limit_exceeded")).toHaveLength(100);
    expect(await storage().listBalances(merchant.id)).toMatchObject([{ available: -10_100, reserved: 10_100 }]);
    await storage().reset(merchant.id);
    expect((await create()).inserted).toBe(true);
  });

  const REFUSALS: [code: string, who: string, begin: (merchantId: string, keyId: string) => Promise<unknown>][] = [
    ["merchant_suspended", "the merchant's state", (id) => storage().setMerchantState(id, "suspended", ACTOR)],
    ["limit_exceeded", "a limit of the merchant", (id) => storage().setMerchantLimits(id, { countries: [] }, ACTOR)],
    ["limit_exceeded", "a limit of the key", (_, key) => storage().setKeyLimits(key, { countries: [] }, ACTOR)],
    ["insufficient_funds", "the balance", async () => ({ mustBeCovered: true })],
    ["not_served", "the request", async () => ({ refusal: new ServiceError("not_served", "Nothing was recorded.") })],
    ["unauthorized", "the revocation of its key", (_, key) => storage().revokeKey(key, 1, ACTOR)],
  ];
  test.each(REFUSALS)(
    "%s by %s refuses new references, and only a revoked key is told so of a known one",
    async (code, _who, begin) => {
      const isOfPayouts = code === "limit_exceeded" || code === "insufficient_funds";
      for (const kind of isOfPayouts ? ["payout"] : ["payout", "checkout"]) {
        const { merchant, key, create } = await limited({});
        const insert = (changes: Partial<Draft<Disbursement & Checkout>> = {}) =>
          kind === "payout"
            ? create(changes)
            : storage().insertCheckout(
                aCheckout(merchant.id, { keyId: key.id, ...changes } as Partial<Draft<Checkout>>),
              );
        const { record } = await insert({ merchantsReference: "known" });
        const changes = await begin(merchant.id, key.id);
        const sent = { ...(typeof changes === "object" && changes), rail: "bank" };
        // They share a batch.
        const [first, known, last] = await Promise.all([
          insert(sent),
          insert({ ...sent, merchantsReference: "known" }),
          insert(sent),
        ]);
        for (const refused of [first, last, ...(code === "unauthorized" ? [known] : [])]) {
          expect(refused).toMatchObject({ inserted: false, refusal: { code } });
          expect(await storage().findHandover(refused.record.reference)).toBeUndefined();
        }
        if (code !== "unauthorized") expect(known).toEqual({ inserted: false, record });
        const query = { merchantId: merchant.id, limit: 10 };
        const { items } = await (kind === "payout"
          ? storage().listDisbursements(query)
          : storage().listCheckouts(query));
        expect(items).toEqual([record]);
      }
    },
  );

  test("limits are replaced and removed, with entries in the audit trail", async () => {
    const { merchant, key } = await limited({ ofMerchant: { perPayment: { XOF: 5 } } });
    const limits = { perDay: { XOF: 7, GHS: 9 }, countries: ["CI", "GH"] };
    await storage().setKeyLimits(key.id, limits, ACTOR);
    expect(await storage().listKeysOf(merchant.id)).toMatchObject([{ id: key.id, limits }]);
    expect(await storage().findMerchant(merchant.id)).toMatchObject({ limits: { perPayment: { XOF: 5 } } });
    await storage().setKeyLimits(key.id, undefined, ACTOR);
    await storage().setMerchantLimits(merchant.id, undefined, ACTOR);
    expect((await storage().listKeysOf(merchant.id))[0]).not.toHaveProperty("limits");
    expect(await storage().findMerchant(merchant.id)).not.toHaveProperty("limits");
    expect(await storage().setKeyLimits("unknown", limits, ACTOR)).toBe(false);
    const { items } = await storage().listAudit({ merchantId: merchant.id, limit: 4 });
    expect(items.map(({ action, details }) => ({ action, details }))).toEqual([
      { action: "merchant.limit", details: {} },
      { action: "key.limit", details: { key: key.id } },
      { action: "key.limit", details: { key: key.id, perDay: "XOF:7,GHS:9", countries: "CI,GH" } },
      { action: "merchant.limit", details: { perPayment: "XOF:5" } },
    ]);
  });
}
