import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  ACTOR,
  ADA,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  DAY,
  HOUR,
  KOFI,
  LATEST,
  MINUTE,
  SECOND,
  START,
  type Current,
} from "./fixtures.ts";

/** A merchant's clock, which is moved ahead of real time. */
export function clockTests(current: Current): void {
  const { storage, now, pass, payout, delivery, claims, report } = current;
  const id = ADA;
  const time = async () => now() + (await storage.findMerchant(id))!.clockOffset;
  const move = (by: number, mostAhead = LATEST) => storage.moveClock(id, { by }, mostAhead);

  test("concurrent moves add up, and never go further ahead of real time than allowed", async () => {
    expect(await move(HOUR + 1, HOUR)).toBeUndefined();
    expect(await storage.moveClock(id, { to: START + HOUR + 1 }, HOUR)).toBeUndefined();
    expect(await time()).toBe(START);
    const moved = await concurrently(5, () => move(HOUR / 2, HOUR));
    expect(moved.filter((merchant) => merchant !== undefined)).toHaveLength(2);
    expect(await time()).toBe(START + HOUR);
    await concurrently(5, () => move(HOUR));
    expect(await time()).toBe(START + 6 * HOUR);
    // A clock that is further ahead than allowed is left where it is.
    for (const nowhere of [{ by: 0 }, { to: START }])
      expect(await storage.moveClock(id, nowhere, MINUTE)).toMatchObject({ merchant: { clockOffset: 6 * HOUR } });
    expect(await move(1, MINUTE)).toBeUndefined();
  });

  test("a payout that is created during a move is dated and due consistently before or after it", async () => {
    const [, ...made] = await Promise.all([move(HOUR), ...Array.from({ length: 20 }, () => payout(id))]);
    for (const { createdAt, due } of made) {
      expect([START, START + HOUR]).toContain(createdAt);
      expect(due!.at).toBe(START + 2 * SECOND);
    }
    pass(2 * SECOND);
    expect(await storage.settleDue(100)).toBe(20);
  });

  test("all of many pending records follow the move", async () => {
    await concurrently(2_500, () => payout(id));
    await move(SECOND);
    pass(SECOND);
    expect(await storage.settleDue(10_000)).toBe(2_500);
  });

  test("retries follow the move; a lease does not", async () => {
    const [retried, claimed] = [await delivery(id), await delivery(id)];
    const first = (await claims()).find(({ event }) => event.id === retried.id);
    await report(first!, { status: "pending", step: 1, nextAttemptAt: START + HOUR });
    await move(HOUR);
    const again = { event: { id: retried.id }, dueAt: START + HOUR, merchant: { clockOffset: HOUR } };
    expect(await claims()).toMatchObject([again]);
    expect(await storage.requestReplay(id, claimed.id, ACTOR)).toBe("claimed");
  });

  test("tells whether a record, a retry or a claimed delivery is due by a time", async () => {
    const hasDue = (until: number) => storage.hasDue(id, until);
    await payout(id);
    expect([await hasDue(START + 1_999), await hasDue(START + 2_000)]).toEqual([false, true]);
    expect(await storage.hasDue(KOFI, LATEST)).toBe(false);
    pass(2_000);
    await storage.settleDue(10);
    expect(await hasDue(LATEST)).toBe(false);
    await delivery(id);
    expect(await hasDue(START + 2_000)).toBe(true);
    const [claimed] = await claims();
    expect(await hasDue(START + 2_000)).toBe(true);
    await report(claimed!, { status: "delivered", step: 1 });
    expect(await hasDue(LATEST)).toBe(false);
  });
}

export function resetTests(current: Current): void {
  const { storage, pass, payout, delivery, claims, report, settleAll } = current;
  const id = ADA;
  /** Makes a record of each kind, and moves the clock by an hour. */
  async function makeBusy(of: string) {
    const again = () => storage.insertDisbursement(aDisbursement(of, { merchantsReference: "same" }));
    await again();
    const { reference } = await current.checkout(of);
    await delivery(of);
    await storage.countRefusal(of, "refused");
    await storage.moveClock(of, { by: HOUR }, LATEST);
    const seen = async () => ({
      clockOffset: (await storage.findMerchant(of))!.clockOffset,
      isFound: (await storage.findPublicCheckout(reference)) !== undefined,
      isDue: await storage.hasDue(of, LATEST),
      events: (await current.events(of)).length,
      deliveries: (await storage.listDeliveries({ merchantId: of, limit: 10 })).items.length,
    });
    return { again, seen };
  }
  const NOTHING = { clockOffset: 0, isFound: false, isDue: false, events: 0, deliveries: 0 };
  const ALL = { clockOffset: HOUR, isFound: true, isDue: true, events: 1, deliveries: 1 };

  test("deletes one merchant's records and resets its clock; keys and secret stay", async () => {
    const { hash } = await current.key(id);
    const { merchant } = (await storage.findMerchantByKey(hash))!;
    const [reset, kept] = [await makeBusy(id), await makeBusy(KOFI)];
    expect([await reset.seen(), await kept.seen()]).toEqual([ALL, ALL]);
    const { current: secret } = await storage.rotateSecret(id, "whsec_new", ACTOR);
    const [claimed] = await claims({ merchantId: id });
    await storage.reset(id);

    expect([await reset.seen(), await kept.seen()]).toEqual([NOTHING, ALL]);
    expect((await storage.findMerchantByKey(hash))?.merchant).toEqual(merchant);
    // The result of an attempt in progress is dropped.
    expect(await report(claimed!, { status: "delivered", step: 1 })).toBe(false);
    expect([await storage.countRefusal(id, "refused"), await storage.countRefusal(KOFI, "refused")]).toEqual([1, 2]);
    // The clock that goes back does not revive an expired secret.
    expect(await storage.readSecrets(id)).toEqual({ current: secret, previous: [] });
    const dated = { createdAt: START, due: { at: START + 2_000 } };
    expect(await reset.again()).toMatchObject({ inserted: true, record: dated });
    expect(await kept.again()).toMatchObject({ inserted: false });
    // What was pending before the reset never ends.
    pass(HOUR);
    await settleAll();
    expect([await reset.seen(), await claims({ merchantId: id })]).toEqual([{ ...NOTHING, events: 1 }, []]);
  });

  test("a payout that is created during a reset is deleted or dated in real time", async () => {
    const dates = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      await storage.moveClock(id, { by: 365 * DAY }, LATEST);
      const [before, , after] = await Promise.all([payout(id), storage.reset(id), nextTurn().then(() => payout(id))]);
      for (const { reference } of [before, after]) {
        const kept = await storage.findDisbursement(id, reference);
        if (kept) dates.add(String([kept.createdAt, kept.due!.at]));
      }
    }
    expect(dates).toEqual(new Set([String([START, START + 2_000])]));
  });

  test("a reset of very many rows leaves none, and no other merchant's change", async () => {
    const kept = await makeBusy(KOFI);
    await concurrently(1_200, () => payout(id));
    await concurrently(20, () => delivery(id));
    await storage.countRefusal(id, "refused");
    // What is created while the steps go on is deleted completely or not at all.
    const made = Array.from({ length: 20 }, () => storage.insertDisbursement(aFinalDisbursement(id)));
    await Promise.all([storage.reset(id), ...made]);
    const { items } = await storage.listDisbursements({ merchantId: id, limit: 50 });
    expect(await current.events(id)).toHaveLength(items.length);
    const statement = (await storage.listStatement({ merchantId: id, limit: 50 })).items;
    const reserved = new Set(statement.map((entry) => entry.reference));
    expect(reserved).toEqual(new Set(items.map(({ reference }) => reference)));
    expect(await storage.countRefusal(id, "refused")).toBe(1);
    expect(await storage.findMerchant(id)).not.toHaveProperty("isResetting");
    expect([await kept.seen(), (await kept.again()).inserted]).toEqual([ALL, false]);
  });
}
