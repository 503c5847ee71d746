import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import {
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  START,
  storedAt,
} from "./fixtures.ts";

/** Distinct references that collation, trimming or Unicode normalisation would treat as equal. */
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
  test("returns a disbursement exactly as it was stored", async () => {
    const merchant = await addMerchant(storage());
    const full = aDisbursement(merchant.id, {
      amount: Number.MAX_SAFE_INTEGER,
      fee: 90_071_992_547_410,
      webhookURL: "https://merchant.example/hook?a=%20b",
    });
    const record = storedAt(full);
    expect(await storage().insertDisbursement(full)).toEqual({ inserted: true, record });
    expect(await storage().findDisbursement(merchant.id, full.reference)).toEqual(record);
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, full.merchantsReference)).toEqual(record);
    expect(await storage().findDisbursement(merchant.id, full.merchantsReference)).toBeUndefined();
    expect(await storage().findDisbursement(merchant.id, full.reference.toLowerCase())).toBeUndefined();
  });

  test("distinguishes similar references and returns each exactly (D15)", async () => {
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

  test("stores exactly one of many concurrent disbursements with one reference", async () => {
    const merchant = await addMerchant(storage());
    const results = await concurrently(100, (index) =>
      storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference: "once", amount: index + 1 })),
    );
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, "once")).toEqual(winner!.record);
  });

  test("keeps merchants apart: both may use one reference, and neither sees the other's record (D4)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const adas = aDisbursement(ada.id, { merchantsReference: "same" });
    const kofis = aDisbursement(kofi.id, { merchantsReference: "same" });
    expect(await storage().insertDisbursement(adas)).toMatchObject({ inserted: true });
    expect(await storage().insertDisbursement(kofis)).toMatchObject({ inserted: true });
    expect(await storage().findDisbursement(ada.id, kofis.reference)).toBeUndefined();
    expect(await storage().findDisbursementByMerchantsReference(kofi.id, "same")).toEqual(storedAt(kofis));
  });

  test("lets a checkout use the reference of a disbursement (D7)", async () => {
    const merchant = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference: "same" }));
    const checkout = aCheckout(merchant.id, { merchantsReference: "same" });
    expect(await storage().insertCheckout(checkout)).toEqual({ inserted: true, record: storedAt(checkout) });
    expect(await storage().findDisbursement(merchant.id, checkout.reference)).toBeUndefined();
  });

  test("keeps the reference of a failed disbursement used (D4)", async () => {
    const merchant = await addMerchant(storage());
    const failed = aFinalDisbursement(merchant.id, { status: "failed" });
    await storage().insertDisbursement(failed);
    const again = aDisbursement(merchant.id, { merchantsReference: failed.merchantsReference });
    expect(await storage().insertDisbursement(again)).toEqual({ inserted: false, record: storedAt(failed) });
  });

  test.each(["success", "failed"] as const)(
    "writes the event of a disbursement that is %s from the start",
    async (status) => {
      const merchant = await addMerchant(storage());
      const draft = aFinalDisbursement(merchant.id, { status });
      await storage().insertDisbursement(draft);
      await storage().insertDisbursement(aDisbursement(merchant.id));
      const type = status === "success" ? "disbursement.completed" : "disbursement.failed";
      const { items } = await storage().listEvents({ merchantId: merchant.id, limit: 10 });
      const { reference } = draft;
      const body = expect.stringContaining(`"status":"${status}"`);
      expect(items).toEqual([
        {
          id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
          merchantId: merchant.id,
          type,
          reference,
          createdAt: START,
          body,
        },
      ]);
    },
  );

  test("has one customer per merchant and phone number, also under concurrency (D19)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const results = await concurrently(20, () => storage().insertDisbursement(aDisbursement(ada.id)));
    const ids = new Set(results.map(({ record }) => record.customer.id));
    expect(ids.size).toBe(1);

    const { record: kofis } = await storage().insertDisbursement(aDisbursement(kofi.id));
    expect(ids.has(kofis.customer.id)).toBe(false);
    const { record: other } = await storage().insertDisbursement(
      aDisbursement(ada.id, { customer: { phoneNumber: "2257038102474" } }),
    );
    expect(ids.has(other.customer.id)).toBe(false);
    await storage().reset(ada.id);
    const { record: later } = await storage().insertDisbursement(aDisbursement(ada.id));
    expect(ids.has(later.customer.id)).toBe(false);
  });

  test("counts refusals for each merchant and reference", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const counted = await concurrently(5, () => storage().countRefusal(ada.id, "shy"));
    expect(counted.toSorted()).toEqual([1, 2, 3, 4, 5]);
    expect(await storage().countRefusal(ada.id, "Shy")).toBe(1);
    expect(await storage().countRefusal(kofi.id, "shy")).toBe(1);
  });
}
