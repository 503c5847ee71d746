import { expect, test } from "vitest";
import type { Current } from "./suite.ts";
import { addDelivery, addMerchant, aCheckout, aDisbursement, aKey, atOnce, MINUTE, START } from "./fixtures.ts";

export function timelineTests(storage: Current): void {
  async function pendingPayout(changes: Parameters<typeof aDisbursement>[1] = {}) {
    const merchant = await addMerchant(storage());
    const record = aDisbursement(merchant.id, changes);
    await storage().insertDisbursement(record);
    const read = async () => (await storage().findDisbursement(merchant.id, record.reference))!;
    const events = () => storage().listEvents({ merchantId: merchant.id, limit: 10 });
    return { merchant, record, read, events };
  }

  test.each([
    ["success", "disbursement.completed"],
    ["failed", "disbursement.failed"],
  ] as const)("a payout settles as %s when it is due, and its event is written with that", async (status, type) => {
    const { record, read, events } = await pendingPayout({ due: { at: START + 2_000, status } });
    expect(await storage().settleDue(START + 1_999, 10)).toBe(0);
    expect(await read()).toEqual(record);
    expect(await events()).toEqual([]);

    expect(await storage().settleDue(START + 2_000, 10)).toBe(1);
    const { due: _, ...rest } = record;
    expect(await read()).toEqual({ ...rest, status, updatedAt: START + 2_000 });
    expect(await events()).toMatchObject([{ type, createdAt: START + 2_000, record: await read() }]);
  });

  test("workers that settle at once settle each payout once, with one event", async () => {
    const { merchant, events } = await pendingPayout();
    const counts = await atOnce(5, () => storage().settleDue(START + MINUTE, 10));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    expect(await events()).toHaveLength(1);
    expect(await storage().settleDue(START + 2 * MINUTE, 10, merchant.id)).toBe(0);
  });

  test("no more are settled at a time than was asked, payouts and checkouts together", async () => {
    const merchant = await addMerchant(storage());
    await atOnce(3, () => storage().insertDisbursement(aDisbursement(merchant.id)));
    await atOnce(2, () => storage().insertCheckout(aCheckout(merchant.id)));
    const counts: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) counts.push(await storage().settleDue(START + 60 * MINUTE, 2));
    expect(counts).toEqual([2, 2, 1, 0]);
  });

  test("a payout that has no end stays pending", async () => {
    const merchant = await addMerchant(storage());
    const { due: _, ...endless } = aDisbursement(merchant.id);
    await storage().insertDisbursement(endless);
    expect(await storage().settleDue(START + 1_000_000 * MINUTE, 10)).toBe(0);
    expect(await storage().nextDue(merchant.id)).toBeUndefined();
  });

  test("each merchant's time is its own, and settlement can be for one of them", async () => {
    const [ahead, behind] = [await pendingPayout(), await pendingPayout()];
    await storage().setClockOffset(ahead.merchant.id, 2_000);
    expect(await storage().settleDue(START, 10)).toBe(1);
    expect(await ahead.read()).toMatchObject({ status: "success", updatedAt: START + 2_000 });
    expect(await behind.read()).toMatchObject({ status: "pending" });

    expect(await storage().settleDue(START + MINUTE, 10, ahead.merchant.id)).toBe(0);
    expect(await storage().settleDue(START + MINUTE, 10, behind.merchant.id)).toBe(1);
  });

  test("what falls due next is the earliest of payouts, checkouts and deliveries", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const next = () => storage().nextDue(merchantId);
    expect(await next()).toBeUndefined();

    await storage().insertCheckout(aCheckout(merchantId, { due: { at: START + 3_000, status: "cancelled" } }));
    expect(await next()).toEqual({ at: START + 3_000, claimed: false });
    await storage().insertDisbursement(aDisbursement(merchantId));
    expect(await next()).toEqual({ at: START + 2_000, claimed: false });
    const { id } = await addDelivery(storage(), merchantId);
    expect(await next()).toEqual({ at: START, claimed: false });

    await storage().claimDelivery(merchantId, id, START, START + MINUTE);
    expect(await next()).toEqual({ at: START, claimed: true });
    const attempt = { at: START, sentAt: START, latencyMs: 1 };
    await storage().recordAttempt(id, attempt, { status: "pending", step: 1, nextAttemptAt: START + 2_500 });
    expect(await next()).toEqual({ at: START + 2_000, claimed: false });
    await storage().settleDue(START + 2_000, 10);
    expect(await next()).toEqual({ at: START + 2_500, claimed: false });
  });

  test("another merchant's due work is not one's own", async () => {
    const { merchant } = await pendingPayout();
    const other = await addMerchant(storage());
    expect(await storage().nextDue(other.id)).toBeUndefined();
    expect(await storage().nextDue(merchant.id)).toMatchObject({ at: START + 2_000 });
  });

  test("a clock moves forward only", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    await storage().setClockOffset(ada.id, 5_000);
    await storage().setClockOffset(ada.id, 4_000);
    expect(await storage().findMerchant(ada.id)).toEqual({ ...ada, clockOffset: 5_000 });
    await storage().setClockOffset(ada.id, 365 * 24 * 60 * MINUTE);
    expect(await storage().findMerchant(ada.id)).toMatchObject({ clockOffset: 365 * 24 * 60 * MINUTE });
    expect(await storage().findMerchant(kofi.id)).toEqual(kofi);
  });

  test("a reset forgets one merchant's records and puts its clock back; keys and secret stay", async () => {
    const merchants = [await addMerchant(storage()), await addMerchant(storage())] as const;
    const [reset, kept] = merchants;
    const keys = [aKey(reset.id), aKey(kept.id)] as const;
    for (const [index, { id }] of merchants.entries()) {
      await storage().insertKey(keys[index]!);
      await storage().insertDisbursement(aDisbursement(id, { merchantsReference: "same" }));
      await storage().insertCheckout(aCheckout(id, { reference: `CHKreset${index}` }));
      const { id: eventId } = await addDelivery(storage(), id);
      await storage().recordAttempt(eventId, { at: START, sentAt: START, latencyMs: 1 }, { status: "ended", step: 1 });
      await storage().countTry(id, "shy");
      await storage().setClockOffset(id, MINUTE);
    }
    const secrets = await storage().readSecrets(reset.id);
    await storage().reset(reset.id);

    const count = async (merchantId: string) => (await storage().listEvents({ merchantId, limit: 10 })).length;
    expect(await storage().findMerchant(reset.id)).toMatchObject({ clockOffset: 0 });
    expect(await storage().findPublicCheckout("CHKreset0")).toBeUndefined();
    expect(await storage().nextDue(reset.id)).toBeUndefined();
    expect(await count(reset.id)).toBe(0);
    expect(await storage().countTry(reset.id, "shy")).toBe(1);
    expect(await storage().readSecrets(reset.id)).toEqual(secrets);
    expect((await storage().findMerchantByKey(keys[0].hash))?.merchant.id).toBe(reset.id);
    const again = aDisbursement(reset.id, { merchantsReference: "same" });
    expect(await storage().insertDisbursement(again)).toEqual({ inserted: true, record: again });

    expect(await storage().findMerchant(kept.id)).toMatchObject({ clockOffset: MINUTE });
    expect(await storage().findPublicCheckout("CHKreset1")).toBeDefined();
    expect(await count(kept.id)).toBe(1);
    expect(await storage().countTry(kept.id, "shy")).toBe(2);
    const repeated = aDisbursement(kept.id, { merchantsReference: "same" });
    expect(await storage().insertDisbursement(repeated)).toMatchObject({ inserted: false });
  });
}
