import { beforeEach, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import { contents, fill } from "./everything.ts";
import { ACTOR, createCurrent, concurrently, pendingOn, type Current } from "./fixtures.ts";
import { DAY, MINUTE, SECOND } from "../times.ts";

const claimHandovers = (storage: Storage, merchantId: string) =>
  storage.claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);

/**
 * Further tests for adapters that keep data after their process ends.
 * @param openAt opens a storage with the data of earlier calls in the same test
 */
export function durabilityTests(
  openAt: (clock: FakeClock, options: { secretKeys?: readonly Buffer[] }) => Promise<Storage>,
): void {
  let clock: FakeClock;
  beforeEach(() => {
    clock = createFakeClock();
  });
  async function open(...secretKeys: Buffer[]): Promise<Current> {
    const storage = await openAt(clock, { secretKeys });
    return createCurrent(() => ({ storage, clock, reported: [] }));
  }
  /** Opens the storage, and closes it after the work. */
  async function opened<T>(work: (current: Current) => Promise<T>, ...secretKeys: Buffer[]): Promise<T> {
    const current = await open(...secretKeys);
    return work(current).finally(() => current.storage.close());
  }

  test("secrets are read with the key that encrypted them, or an earlier one, and without it nothing opens", async () => {
    const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const { id, initial } = await opened(async ({ storage, merchant }) => {
      const made = await merchant();
      return { id: made.id, initial: (await storage.readSecrets(made.id)).current };
    });
    const rotated = { current: "whsec_second", previous: [{ secret: initial, expiresAt: clock.now() + DAY }] };
    const other = await opened(async ({ storage, merchant }) => {
      expect((await storage.readSecrets(id)).current).toBe(initial);
      expect(await storage.rotateSecret(id, "whsec_second", ACTOR)).toEqual(rotated);
      return merchant();
    }, first);

    const NEEDED = /encrypted with the key [\da-f]{8}, .*SECRETS_KEY_FILE/;
    await expect(open()).rejects.toThrow(NEEDED);
    await expect(open(second)).rejects.toThrow(NEEDED);

    await opened(async () => undefined, second, first);
    await opened(async ({ storage, delivery, claims }) => {
      expect(await storage.readSecrets(id)).toEqual(rotated);
      expect(await storage.readSecrets(other.id)).toEqual({ current: initial, previous: [] });
      await delivery(id);
      expect(await claims()).toMatchObject([{ secrets: rotated }]);
    }, second);
  });

  test("returns every write confirmed before it was closed, and continues settlement, deliveries and hand-overs", async () => {
    const { ada, due, onRail, before } = await opened(async ({ storage, claims }) => {
      const filled = await fill(storage);
      const { record } = await storage.insertDisbursement(pendingOn("mobile", filled.ada.id));
      expect(await claimHandovers(storage, filled.ada.id)).toMatchObject([{ id: record.reference }]);
      expect((await claims()).map(({ id }) => id)).toContain(filled.due.id);
      return { ...filled, onRail: record, before: await contents(storage) };
    });
    await opened(async ({ storage, claims }) => {
      expect(await contents(storage)).toEqual(before);
      expect(await storage.countRefusal(ada.id, "refused")).toBe(2);
      clock.advance(MINUTE);
      expect(await storage.settleDue(10)).toBe(1);
      // The claims of a dead process end. Its rail may have been asked.
      expect((await claims()).map(({ id }) => id)).toContain(due.id);
      await storage.promoteHandovers(10);
      expect(await claimHandovers(storage, ada.id)).toMatchObject([{ id: onRail.reference, askedAgoMs: 0 }]);
    });
  });

  test("finishes or rejects every write in progress when it is closed, a move of the clock wholly or not at all", async () => {
    const { storage: before, merchant, payout, finalPayout } = await open();
    const { id } = await merchant();
    await concurrently(100, () => payout(id));
    const move = () => before.moveClock(id, { by: SECOND / 2 }, ACTOR);
    const [first, second, made] = [move(), move(), concurrently(10, () => finalPayout(id))];
    await first;
    const [end] = await Promise.allSettled([second, before.close()]);
    await expect(payout(id)).rejects.toThrow(Error);
    await expect(before.ping()).rejects.toThrow(Error);
    await opened(async ({ storage, pass }) => {
      await storage.ping();
      for (const record of await made) expect(await storage.findDisbursement(id, record.reference)).toEqual(record);
      const { clockOffset } = (await storage.findMerchant(id))!;
      expect(end.status === "fulfilled" ? [SECOND] : [SECOND / 2, SECOND]).toContain(clockOffset);
      pass(2 * SECOND - clockOffset - 1);
      expect(await storage.settleDue(200)).toBe(0);
      pass(1);
      expect(await storage.settleDue(200)).toBe(100);
    });
  });

  test("finishes a reset that the end of the process interrupted", async () => {
    const { storage: before, ...current } = await open();
    const merchant = await current.merchant();
    const merchantId = merchant.id;
    await before.moveClock(merchantId, { by: MINUTE }, ACTOR);
    // A reset deletes a thousand at a time, and the storage closes while it does so.
    await concurrently(3_200, () => current.payout(merchantId));
    const { id } = await current.delivery(merchantId);
    const [reset] = await Promise.allSettled([before.reset(merchantId, ACTOR), before.close()]);
    expect(reset.status).toBe("rejected");

    await opened(async ({ storage }) => {
      expect(await storage.findMerchant(merchantId)).toEqual({ ...merchant, isResetting: true });
      await storage.prune(10);
      expect(await storage.findMerchant(merchantId)).toEqual(merchant);
      expect(await storage.findDelivery(merchantId, id)).toBeUndefined();
      expect((await storage.listDisbursements({ merchantId, limit: 1 })).items).toEqual([]);
      expect(await storage.listBalances(merchantId)).toEqual([]);
    });
  });
}
