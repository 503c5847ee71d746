import { beforeEach, expect, test } from "vitest";
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
  pendingOn,
} from "./fixtures.ts";

export interface ReopenOptions {
  secretKeys?: readonly Buffer[];
}

const claim = (storage: Storage, merchantId: string) =>
  storage.claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);

export function durabilityTests(openAt: (clock: FakeClock, options: ReopenOptions) => Promise<Storage>): void {
  let clock: FakeClock;
  beforeEach(() => {
    clock = createFakeClock();
  });
  const open = (...secretKeys: Buffer[]) => openAt(clock, { secretKeys });
  /** Opens the storage, and closes it after the work. */
  async function opened<T>(work: (storage: Storage) => Promise<T>, ...secretKeys: Buffer[]): Promise<T> {
    const storage = await open(...secretKeys);
    return work(storage).finally(() => storage.close());
  }

  test("a claim to hand a payment over is durable, because the rail may have been asked", async () => {
    const { merchantId, reference } = await opened(async (storage) => {
      const { id } = await addMerchant(storage);
      const { record } = await storage.insertDisbursement(pendingOn("mobile", id));
      expect(await claim(storage, id)).toMatchObject([{ id: record.reference }]);
      return record;
    });
    await opened(async (storage) => {
      clock.advance(MINUTE);
      await storage.promoteHandovers(10);
      expect(await claim(storage, merchantId)).toMatchObject([{ id: reference, askedAgoMs: 0 }]);
    });
  });

  test("secrets are read with the key that encrypted them, or an earlier one, and without it nothing opens", async () => {
    const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const { id, initial } = await opened(async (storage) => {
      const merchant = await addMerchant(storage);
      return { id: merchant.id, initial: (await storage.readSecrets(merchant.id)).current };
    });
    const rotated = { current: "whsec_second", previous: [{ secret: initial, expiresAt: clock.now() + HOUR }] };
    const other = await opened(async (storage) => {
      expect((await storage.readSecrets(id)).current).toBe(initial);
      const rotation = { keepMs: HOUR, maxPrevious: 5, actor: ACTOR } as const;
      expect(await storage.rotateSecret(id, "whsec_second", rotation)).toEqual(rotated);
      return addMerchant(storage);
    }, first);

    const NEEDED = /encrypted with the key [\da-f]{8}, .*SECRETS_KEY_FILE/;
    await expect(open()).rejects.toThrow(NEEDED);
    await expect(open(second)).rejects.toThrow(NEEDED);

    await opened(async () => undefined, second, first);
    await opened(async (storage) => {
      expect(await storage.readSecrets(id)).toEqual(rotated);
      expect(await storage.revealSecrets(other.id, ACTOR)).toEqual({ current: initial, previous: [] });
      await addDelivery(storage, id);
      expect(await claimAll(storage)).toMatchObject([{ secrets: rotated }]);
    }, second);
  });

  test("returns every write confirmed before it was closed, and continues settlement and deliveries", async () => {
    const before = await opened(async (storage) => {
      const { id } = await addMerchant(storage);
      const key = await addKey(storage, id);
      const { record: disbursement } = await storage.insertDisbursement(aDisbursement(id));
      const { record: checkout } = await storage.insertCheckout(aCheckout(id));
      await storage.countRefusal(id, "refused");
      const { id: delivered } = await addDelivery(storage, id);
      await storage.recordAttempt((await claimAll(storage))[0]!, ATTEMPT, { status: "ended", step: 1 });
      const delivery = await storage.findDelivery(id, delivered);
      const { id: claimed } = await addDelivery(storage, id);
      expect(await claimAll(storage)).toHaveLength(1);
      return { id, key, disbursement, checkout, delivery: delivery!, claimed };
    });
    await opened(async (storage) => {
      const { id, key, disbursement, checkout, delivery, claimed } = before;
      expect(await storage.findMerchantByKey(key.hash)).toMatchObject({ merchant: { id } });
      expect(await storage.findDisbursement(id, disbursement.reference)).toEqual(disbursement);
      expect(await storage.findCheckout(id, checkout.reference)).toEqual(checkout);
      expect(await storage.findDelivery(id, delivery.id)).toEqual(delivery);
      expect(await storage.countRefusal(id, "refused")).toBe(2);
      clock.advance(MINUTE);
      expect(await storage.settleDue(10)).toBe(1);
      expect(await storage.findDisbursement(id, disbursement.reference)).toMatchObject({ status: "success" });
      // The claim of a dead process ends.
      expect(await claimAll(storage)).toMatchObject([{ id: claimed }]);
    });
  });

  test("finishes or rejects every write in progress when it is closed", async () => {
    const before = await open();
    const merchant = await addMerchant(before);
    const drafts = Array.from({ length: 10 }, () => aDisbursement(merchant.id));
    const results = concurrently(10, (index) => before.insertDisbursement(drafts[index]!));
    await before.close();
    expect((await results).every(({ inserted }) => inserted)).toBe(true);
    await expect(before.insertDisbursement(aDisbursement(merchant.id))).rejects.toThrow(Error);
    await expect(before.ping()).rejects.toThrow(Error);
    await opened(async (storage) => {
      await storage.ping();
      for (const { reference } of drafts) expect(await storage.findDisbursement(merchant.id, reference)).toBeDefined();
    });
  });

  test("finishes a reset that the end of the process interrupted", async () => {
    const before = await open();
    const merchant = await addMerchant(before);
    await before.moveClock(merchant.id, { by: MINUTE }, LATEST);
    await concurrently(1_200, () => before.insertDisbursement(aDisbursement(merchant.id)));
    const { id } = await addDelivery(before, merchant.id);
    const [reset] = await Promise.allSettled([before.reset(merchant.id), before.close()]);
    expect(reset.status).toBe("rejected");

    await opened(async (storage) => {
      expect(await storage.findMerchant(merchant.id)).toEqual({ ...merchant, isResetting: true });
      await storage.prune(10);
      expect(await storage.findMerchant(merchant.id)).toEqual(merchant);
      expect(await storage.findDelivery(merchant.id, id)).toBeUndefined();
      expect((await storage.listDisbursements({ merchantId: merchant.id, limit: 1 })).items).toEqual([]);
      expect(await storage.listBalances(merchant.id)).toEqual([]);
    });
  });

  test("continues a replay where it was: no delivery is missed and none made ready twice", async () => {
    let storage = await open();
    const { id: merchantId } = await addMerchant(storage);
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) ids.push((await attempted(storage, merchantId, "ended")).id);
    const replay = { id: nextId(), merchantId, filter: { status: "failed" }, pace: 8 } as const;
    await storage.startReplay(replay, ACTOR);
    const ready: string[] = [];
    for (let steps = 0; steps < 5; steps += 1) {
      // The step may be in progress when the storage is closed; it then happens or does not.
      await Promise.allSettled([storage.advanceReplay(), storage.close()]);
      storage = await open();
      for (const claimed of await claimAll(storage)) {
        ready.push(claimed.event.id);
        await storage.recordAttempt(claimed, ATTEMPT, { status: "ended", step: 1 });
      }
      clock.advance(MINUTE);
    }
    while ((await storage.advanceReplay()) !== undefined) clock.advance(MINUTE);
    ready.push(...(await claimAll(storage)).map(({ event }) => event.id));
    expect(ready).toEqual(ids);
    expect(await storage.findReplay(merchantId, replay.id)).toMatchObject({ state: "done", replayed: 6, skipped: 0 });
    await storage.close();
  });
}
