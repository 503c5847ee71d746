import { expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { addDelivery, addMerchant, aCheckout, aDisbursement, aKey, atOnce, MINUTE, START } from "./fixtures.ts";

export function durabilityTests(open: () => Promise<Storage>): void {
  test("all that was promised is there when the storage is opened again", async () => {
    const before = await open();
    const merchant = await addMerchant(before);
    const key = aKey(merchant.id);
    await before.insertKey(key);
    const payout = aDisbursement(merchant.id);
    await before.insertDisbursement(payout);
    const checkout = aCheckout(merchant.id);
    await before.insertCheckout(checkout);
    await before.countTry(merchant.id, "shy");
    const { id } = await addDelivery(before, merchant.id);
    await before.recordAttempt(id, { at: START, sentAt: START, latencyMs: 1 }, { status: "ended", step: 1 });
    const delivery = await before.findDelivery(merchant.id, id);
    await before.setClockOffset(merchant.id, MINUTE);
    await before.close();

    const after = await open();
    expect(await after.findMerchantByKey(key.hash)).toMatchObject({ merchant: { ...merchant, clockOffset: MINUTE } });
    expect(await after.findDisbursement(merchant.id, payout.reference)).toEqual(payout);
    expect(await after.findCheckout(merchant.id, checkout.reference)).toEqual(checkout);
    expect(await after.findDelivery(merchant.id, id)).toEqual(delivery);
    expect(await after.countTry(merchant.id, "shy")).toBe(2);
    await after.close();
  });

  test("what was begun before the storage is closed is finished, or refused", async () => {
    const before = await open();
    const merchant = await addMerchant(before);
    const candidates = Array.from({ length: 10 }, () => aDisbursement(merchant.id));
    const results = atOnce(10, (index) => before.insertDisbursement(candidates[index]!));
    await before.close();
    expect((await results).every(({ inserted }) => inserted)).toBe(true);
    await expect(before.insertDisbursement(aDisbursement(merchant.id))).rejects.toThrow(Error);

    const after = await open();
    for (const { reference } of candidates) expect(await after.findDisbursement(merchant.id, reference)).toBeDefined();
    await after.close();
  });

  test("settlement goes on where it was left", async () => {
    const before = await open();
    const merchant = await addMerchant(before);
    const payout = aDisbursement(merchant.id);
    await before.insertDisbursement(payout);
    await before.close();

    const after = await open();
    expect(await after.settleDue(START + MINUTE, 10)).toBe(1);
    expect(await after.findDisbursement(merchant.id, payout.reference)).toMatchObject({ status: "success" });
    await after.close();
  });
}
