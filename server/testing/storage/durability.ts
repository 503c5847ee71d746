import { expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import {
  aCheckout,
  ACTOR,
  addDelivery,
  addKey,
  addMerchant,
  aDisbursement,
  ATTEMPT,
  attempted,
  claimAll,
  concurrently,
  HOUR,
  LATEST,
  MINUTE,
  nextId,
  START,
} from "./fixtures.ts";

export interface ReopenOptions {
  secretKeys?: readonly Buffer[];
}

export function durabilityTests(open: (clock: FakeClock, options?: ReopenOptions) => Promise<Storage>): void {
  test("a claim to hand a payment over is durable, because the rail may have been asked", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const { id: merchantId } = await addMerchant(before);
    const { due: _, ...draft } = aDisbursement(merchantId);
    const { reference } = (await before.insertDisbursement({ ...draft, rail: "mobile" })).record;
    const claim = (storage: Storage) => storage.claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);
    expect(await claim(before)).toMatchObject([{ id: reference }]);
    await before.close();

    const after = await open(clock);
    clock.advance(MINUTE);
    await after.promoteHandovers(10);
    expect(await claim(after)).toMatchObject([{ id: reference, askedAgoMs: 0 }]);
    await after.close();
  });

  test("secrets are read with the key that encrypted them, or an earlier one, and without it nothing opens", async () => {
    const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const clock = createFakeClock();
    const plain = await open(clock);
    const { id } = await addMerchant(plain);
    const rotation = { keepMs: HOUR, maxPrevious: 5, actor: ACTOR } as const;
    const { current: initial } = await plain.readSecrets(id);
    await plain.close();

    const keyed = await open(clock, { secretKeys: [first] });
    const other = await addMerchant(keyed);
    expect((await keyed.readSecrets(id)).current).toBe(initial);
    const rotated = await keyed.rotateSecret(id, "whsec_second", rotation);
    expect(rotated).toEqual({
      current: "whsec_second",
      previous: [{ secret: initial, expiresAt: clock.now() + HOUR }],
    });
    await keyed.close();

    const NEEDED = /encrypted with the key [\da-f]{8}, .*SECRETS_KEY_FILE/;
    await expect(open(clock)).rejects.toThrow(NEEDED);
    await expect(open(clock, { secretKeys: [second] })).rejects.toThrow(NEEDED);

    const both = await open(clock, { secretKeys: [second, first] });
    await both.close();
    const after = await open(clock, { secretKeys: [second] });
    expect(await after.readSecrets(id)).toEqual(rotated);
    expect(await after.revealSecrets(other.id, ACTOR)).toEqual({ current: initial, previous: [] });
    await addDelivery(after, id);
    expect(await claimAll(after)).toMatchObject([{ secrets: rotated }]);
    await after.close();
  });

  test("returns every write confirmed before it was closed", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const merchant = await addMerchant(before);
    const key = await addKey(before, merchant.id);
    const { record: disbursement } = await before.insertDisbursement(aDisbursement(merchant.id));
    const { record: checkout } = await before.insertCheckout(aCheckout(merchant.id));
    await before.countRefusal(merchant.id, "refused");
    const { id } = await addDelivery(before, merchant.id);
    await before.recordAttempt((await claimAll(before))[0]!, ATTEMPT, { status: "ended", step: 1 });
    const delivery = await before.findDelivery(merchant.id, id);
    const moved = await before.moveClock(merchant.id, { by: MINUTE }, LATEST);
    await before.close();

    const after = await open(clock);
    expect(await after.findMerchantByKey(key.hash)).toMatchObject({ merchant: moved! });
    expect(await after.findDisbursement(merchant.id, disbursement.reference)).toEqual(disbursement);
    expect(await after.findCheckout(merchant.id, checkout.reference)).toEqual(checkout);
    expect(await after.findDelivery(merchant.id, id)).toEqual(delivery);
    expect(await after.countRefusal(merchant.id, "refused")).toBe(2);
    await after.close();
  });

  test("finishes or rejects every write in progress when it is closed", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const merchant = await addMerchant(before);
    const drafts = Array.from({ length: 10 }, () => aDisbursement(merchant.id));
    const results = concurrently(10, (index) => before.insertDisbursement(drafts[index]!));
    await before.close();
    expect((await results).every(({ inserted }) => inserted)).toBe(true);
    await expect(before.insertDisbursement(aDisbursement(merchant.id))).rejects.toThrow(Error);
    await expect(before.ping()).rejects.toThrow(Error);

    const after = await open(clock);
    await after.ping();
    for (const { reference } of drafts) expect(await after.findDisbursement(merchant.id, reference)).toBeDefined();
    await after.close();
  });

  test("continues settlement", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const merchant = await addMerchant(before);
    const { record } = await before.insertDisbursement(aDisbursement(merchant.id));
    await before.close();

    clock.advance(MINUTE);
    const after = await open(clock);
    expect(await after.settleDue(10)).toBe(1);
    expect(await after.findDisbursement(merchant.id, record.reference)).toMatchObject({ status: "success" });
    await after.close();
  });

  test("a dead process's claims end", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const merchant = await addMerchant(before);
    const { id } = await addDelivery(before, merchant.id);
    expect(await claimAll(before)).toHaveLength(1);
    await before.close();

    const after = await open(clock);
    clock.advance(MINUTE);
    expect(await claimAll(after)).toMatchObject([{ event: { id } }]);
    await after.close();
  });

  test("finishes a move of the clock that the end of the process interrupted", async () => {
    const clock = createFakeClock();
    const before = await open(clock);
    const merchant = await addMerchant(before);
    await before.insertDisbursement(aDisbursement(merchant.id));
    await before.insertCheckout(aCheckout(merchant.id, { due: { afterMs: 2_000, status: "cancelled" } }));
    const { id } = await addDelivery(before, merchant.id);
    const retry = { status: "pending", step: 1, nextAttemptAt: START + 2_000 } as const;
    await before.recordAttempt((await claimAll(before))[0]!, ATTEMPT, retry);
    const [moved] = await Promise.allSettled([before.moveClock(merchant.id, { by: 1_000 }, LATEST), before.close()]);
    expect(moved.status).toBe("rejected");

    const after = await open(clock);
    expect(await after.findMerchant(merchant.id)).toMatchObject({ clockOffset: 1_000 });
    expect(await after.settleDue(10)).toBe(0);
    clock.advance(1_000);
    expect(await after.settleDue(10)).toBe(2);
    expect((await claimAll(after)).map(({ event }) => event.id)).toContain(id);
    await after.close();
  });

  test("continues a replay where it was: no delivery is missed and none made ready twice", async () => {
    const clock = createFakeClock();
    let storage = await open(clock);
    const merchant = await addMerchant(storage);
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) ids.push((await attempted(storage, merchant.id, "ended")).id);
    const replay = { id: nextId(), merchantId: merchant.id, filter: { status: "failed" }, pace: 8 } as const;
    await storage.startReplay(replay, ACTOR);
    const ready: string[] = [];
    for (let steps = 0; steps < 5; steps += 1) {
      // The step may be in progress when the storage is closed; it then happens or does not.
      await Promise.allSettled([storage.advanceReplay(), storage.close()]);
      storage = await open(clock);
      for (const claimed of await claimAll(storage)) {
        ready.push(claimed.event.id);
        await storage.recordAttempt(claimed, ATTEMPT, { status: "ended", step: 1 });
      }
      clock.advance(MINUTE);
    }
    while ((await storage.advanceReplay()) !== undefined) clock.advance(MINUTE);
    ready.push(...(await claimAll(storage)).map(({ event }) => event.id));
    expect(ready).toEqual(ids);
    expect(await storage.findReplay(merchant.id, replay.id)).toMatchObject({ state: "done", replayed: 6, skipped: 0 });
    await storage.close();
  });
}
