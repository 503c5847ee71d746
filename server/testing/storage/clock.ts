import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aCheckout,
  aDisbursement,
  claimAll,
  concurrently,
  HOUR,
  LATEST,
  MINUTE,
  SECOND,
  START,
  ATTEMPT,
} from "./fixtures.ts";

export function clockTests(storage: Current): void {
  const timeOf = async (id: string) => storage.clock().now() + (await storage().findMerchant(id))!.clockOffset;

  test("concurrent moves add up", async () => {
    const { id } = await addMerchant(storage());
    await concurrently(5, () => storage().moveClock(id, { by: HOUR }, LATEST));
    expect(await timeOf(id)).toBe(START + 5 * HOUR);
  });

  test("does not move further ahead of real time than allowed, by one move or the sum of several", async () => {
    const { id } = await addMerchant(storage());
    const move = (by: number) => storage().moveClock(id, { by }, HOUR);
    expect(await move(HOUR + 1)).toBeUndefined();
    expect(await storage().moveClock(id, { to: START + HOUR + 1 }, HOUR)).toBeUndefined();
    expect(await timeOf(id)).toBe(START);
    const moved = await concurrently(5, () => move(HOUR / 2));
    expect(moved.filter((merchant) => merchant !== undefined)).toHaveLength(2);
    expect(await timeOf(id)).toBe(START + HOUR);
  });

  test("a clock that is further ahead than allowed is left where it is", async () => {
    const { id } = await addMerchant(storage());
    await storage().moveClock(id, { by: HOUR }, LATEST);
    for (const move of [{ by: 0 }, { to: START }]) {
      expect(await storage().moveClock(id, move, MINUTE)).toMatchObject({ merchant: { clockOffset: HOUR } });
    }
    expect(await storage().moveClock(id, { by: 1 }, MINUTE)).toBeUndefined();
  });

  test("a disbursement created during a move is dated and due consistently before or after it", async () => {
    const { id } = await addMerchant(storage());
    const [, ...inserted] = await Promise.all([
      storage().moveClock(id, { by: HOUR }, LATEST),
      ...Array.from({ length: 20 }, () => storage().insertDisbursement(aDisbursement(id))),
    ]);
    for (const { record } of inserted) {
      expect([START, START + HOUR]).toContain(record.createdAt);
      expect(record.due!.at).toBe(START + 2 * SECOND);
    }
    storage.clock().advance(2 * SECOND);
    expect(await storage().settleDue(100)).toBe(20);
  });

  test("all of many pending records follow the move", async () => {
    const merchant = await addMerchant(storage());
    await concurrently(2_500, () => storage().insertDisbursement(aDisbursement(merchant.id)));
    await storage().moveClock(merchant.id, { by: SECOND }, LATEST);
    storage.clock().advance(SECOND);
    expect(await storage().settleDue(10_000)).toBe(2_500);
  });

  test("retries follow the move; a lease does not", async () => {
    const merchant = await addMerchant(storage());
    const [retried, claimed] = [await addDelivery(storage(), merchant.id), await addDelivery(storage(), merchant.id)];
    const first = (await claimAll(storage())).find(({ event }) => event.id === retried.id);
    await storage().recordAttempt(first!, ATTEMPT, { status: "pending", step: 1, nextAttemptAt: START + HOUR });
    await storage().moveClock(merchant.id, { by: HOUR }, LATEST);
    const again = await claimAll(storage());
    expect(again).toMatchObject([{ event: { id: retried.id }, dueAt: START + HOUR, merchant: { clockOffset: HOUR } }]);
    expect(await storage().requestReplay(merchant.id, claimed.id, ACTOR)).toBe("claimed");
  });

  test("reports whether a record, a retry or a claimed delivery is due by a time", async () => {
    const [merchant, other] = [await addMerchant(storage()), await addMerchant(storage())];
    const hasDue = (until: number) => storage().hasDue(merchant.id, until);
    expect(await hasDue(LATEST)).toBe(false);
    await storage().insertDisbursement(aDisbursement(merchant.id));
    expect([await hasDue(START + 1_999), await hasDue(START + 2_000)]).toEqual([false, true]);
    expect(await storage().hasDue(other.id, LATEST)).toBe(false);
    storage.clock().advance(2_000);
    await storage().settleDue(10);
    expect(await hasDue(LATEST)).toBe(false);

    const { id } = await addDelivery(storage(), merchant.id);
    expect(await hasDue(START + 2_000)).toBe(true);
    const [claimed] = await claimAll(storage());
    expect(claimed!.event.id).toBe(id);
    expect(await hasDue(START + 2_000)).toBe(true);
    await storage().recordAttempt(claimed!, ATTEMPT, { status: "delivered", step: 1 });
    expect(await hasDue(LATEST)).toBe(false);
  });

  test("lists what is upcoming in order, with its number", async () => {
    const [{ id }, other] = [await addMerchant(storage()), await addMerchant(storage())];
    const payout = aDisbursement(id, { due: { afterMs: HOUR, status: "failed" } });
    const checkout = aCheckout(id);
    await storage().insertDisbursement(payout);
    await storage().insertCheckout(checkout);
    await storage().insertDisbursement(aDisbursement(other.id));
    const delivery = await addDelivery(storage(), id);

    const [sent, expired, settled] = [
      { at: START, kind: "delivery", ...delivery, type: "disbursement.completed", step: 0 },
      { at: START + 30 * MINUTE, kind: "checkout", status: "cancelled", ...referencesOf(checkout) },
      { at: START + HOUR, kind: "disbursement", status: "failed", ...referencesOf(payout) },
    ];
    expect(await storage().listUpcoming(id, START + HOUR, 10)).toEqual({ items: [sent, expired, settled], total: 3 });
    expect(await storage().listUpcoming(id, START + HOUR, 2)).toEqual({ items: [sent, expired], total: 3 });
    expect(await storage().listUpcoming(id, START + HOUR - 1, 10)).toEqual({ items: [sent, expired], total: 2 });
    expect(await storage().listUpcoming(id, START - 1, 10)).toEqual({ items: [], total: 0 });
  });
}

const referencesOf = ({ reference, merchantsReference }: { reference: string; merchantsReference: string }) => ({
  reference,
  merchantsReference,
});
