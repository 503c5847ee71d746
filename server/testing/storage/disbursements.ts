import { expect, test } from "vitest";
import type { Current } from "./suite.ts";
import { addMerchant, aCheckout, aDisbursement, atOnce, START } from "./fixtures.ts";

/** Each differs from all others in a way that a collation, a trim or a normalisation would lose. */
const REFERENCES = [
  "Payout",
  "payout",
  "PAYOUT",
  " payout",
  "payout ",
  "pay out",
  "pay  out",
  "pay\u00a0out",
  "p\u00e9age",
  "pe\u0301age",
  "\ufb01n",
  "fin",
  "stra\u00dfe",
  "strasse",
  "\u0130",
  "i",
  "I",
  "\u0131",
  "👩‍👩‍👧",
  "👩👩👧",
  "١٢",
  "12",
  "012",
  "%",
  "_",
  "'; DROP TABLE merchants; --",
  "\u{10ffff}",
  "\ufeffpayout",
];

export function disbursementTests(storage: Current): void {
  test("a payout is found again as it was recorded", async () => {
    const merchant = await addMerchant(storage());
    const full = aDisbursement(merchant.id, {
      amount: Number.MAX_SAFE_INTEGER,
      fee: 90_071_992_547_410,
      webhookURL: "https://merchant.example/hook?a=%20b",
    });
    expect(await storage().insertDisbursement(full)).toEqual({ inserted: true, record: full });
    expect(await storage().findDisbursement(merchant.id, full.reference)).toEqual(full);
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, full.merchantsReference)).toEqual(full);
    expect(await storage().findDisbursement(merchant.id, full.merchantsReference)).toBeUndefined();
    expect(await storage().findDisbursement(merchant.id, full.reference.toLowerCase())).toBeUndefined();
  });

  test("references that look alike are different, and each is kept as it was sent (D15)", async () => {
    const merchant = await addMerchant(storage());
    const insert = (merchantsReference: string) =>
      storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference }));
    for (const reference of REFERENCES) {
      expect.soft(await insert(reference), JSON.stringify(reference)).toMatchObject({ inserted: true });
    }
    for (const reference of REFERENCES) {
      const again = await insert(reference);
      expect.soft(again, JSON.stringify(reference)).toMatchObject({ inserted: false });
      expect.soft(again.record.merchantsReference).toBe(reference);
    }
  });

  test("of many that arrive at once with one reference exactly one is recorded", async () => {
    const merchant = await addMerchant(storage());
    const results = await atOnce(100, (index) =>
      storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference: "once", amount: index + 1 })),
    );
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, "once")).toEqual(winner!.record);
  });

  test("merchants do not see each other's payouts, and may use the same reference (D4)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const adas = aDisbursement(ada.id, { merchantsReference: "same" });
    const kofis = aDisbursement(kofi.id, { merchantsReference: "same" });
    expect(await storage().insertDisbursement(adas)).toMatchObject({ inserted: true });
    expect(await storage().insertDisbursement(kofis)).toMatchObject({ inserted: true });
    expect(await storage().findDisbursement(ada.id, kofis.reference)).toBeUndefined();
    expect(await storage().findDisbursementByMerchantsReference(kofi.id, "same")).toEqual(kofis);
  });

  test("a checkout may bear the reference of a payout (D7)", async () => {
    const merchant = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference: "same" }));
    const checkout = aCheckout(merchant.id, { merchantsReference: "same" });
    expect(await storage().insertCheckout(checkout)).toEqual({ inserted: true, record: checkout });
    expect(await storage().findDisbursement(merchant.id, checkout.reference)).toBeUndefined();
  });

  test("the reference of a failed payout stays used (D4)", async () => {
    const merchant = await addMerchant(storage());
    const { due: _, ...failed } = aDisbursement(merchant.id, { status: "failed" });
    await storage().insertDisbursement(failed);
    const again = aDisbursement(merchant.id, { merchantsReference: failed.merchantsReference });
    expect(await storage().insertDisbursement(again)).toEqual({ inserted: false, record: failed });
  });

  test.each(["success", "failed"] as const)("a payout that is %s from the start has its event", async (status) => {
    const merchant = await addMerchant(storage());
    const { due: _, ...record } = aDisbursement(merchant.id, { status });
    await storage().insertDisbursement(record);
    await storage().insertDisbursement(aDisbursement(merchant.id));
    const type = status === "success" ? "disbursement.completed" : "disbursement.failed";
    expect(await storage().listEvents({ merchantId: merchant.id, limit: 10 })).toEqual([
      { id: expect.stringMatching(/^msg_[0-9a-f]{32}$/), merchantId: merchant.id, type, createdAt: START, record },
    ]);
  });

  test("one merchant has one customer for a number, also when payouts arrive at once (D19)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const results = await atOnce(20, () => storage().insertDisbursement(aDisbursement(ada.id)));
    const ids = new Set(results.map(({ record }) => record.customer.id));
    expect(ids.size).toBe(1);

    const { record: kofis } = await storage().insertDisbursement(aDisbursement(kofi.id));
    expect(ids.has(kofis.customer.id)).toBe(false);
    const other = aDisbursement(ada.id, { customer: { id: "new", phoneNumber: "2257038102474" } });
    expect((await storage().insertDisbursement(other)).record.customer.id).toBe("new");
  });

  test("tries are counted for each merchant and reference", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const counted = await atOnce(5, () => storage().countTry(ada.id, "shy"));
    expect(counted.toSorted()).toEqual([1, 2, 3, 4, 5]);
    expect(await storage().countTry(ada.id, "Shy")).toBe(1);
    expect(await storage().countTry(kofi.id, "shy")).toBe(1);
  });
}
