import { expect, test } from "vitest";
import type { Pruned, PruneQuery } from "../../domain/housekeeping.ts";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  claimAll,
  DAY,
  LATEST,
} from "./fixtures.ts";

export function pruneTests(storage: Current): void {
  const now = () => storage.clock().now();

  /** Adds a delivery and makes an attempt that ends it with this status. */
  async function attempted(merchantId: string, status: DeliveryStatus, url = "https://merchant.example/hook") {
    const made = await addDelivery(storage(), merchantId, { webhookURL: url });
    await attempt(merchantId, status);
    return made;
  }
  async function attempt(merchantId: string, status: DeliveryStatus) {
    const [claimed] = await claimAll(storage(), { merchantId });
    const next = status === "pending" ? { nextAttemptAt: now() + 200 * DAY } : {};
    await storage().recordAttempt(claimed!, { at: now(), sentAt: now(), latencyMs: 1 }, { status, step: 1, ...next });
  }
  /** Runs all steps for a merchant and adds up their results. */
  async function pruneAll(merchantId: string, changes: Partial<PruneQuery> = {}) {
    const sum = { events: 0, attempts: 0, bytes: 0 };
    for (let after: number | undefined = 0; after !== undefined;) {
      const query = { merchantId, before: now() - 90 * DAY, after, limit: 2, dryRun: false, ...changes };
      const { next, ...pruned }: Pruned = await storage().pruneEvents(query);
      for (const name of ["events", "attempts", "bytes"] as const) sum[name] += pruned[name];
      after = next;
    }
    return sum;
  }
  const idsOf = async (merchantId: string) =>
    (await storage().listEvents({ merchantId, limit: 100, direction: "newer" })).items.map(({ id }) => id);

  test("deletes old events that were delivered or have no address, and keeps their records", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const delivered = await attempted(merchantId, "delivered");
    const kept = [];
    for (const status of ["pending", "ended", "exhausted"] as const) kept.push(await attempted(merchantId, status));
    const silent = aFinalDisbursement(merchantId);
    await storage().insertDisbursement(silent);
    kept.push(await addDelivery(storage(), merchantId, { webhookURL: "https://due.example/hook" }));
    const { items } = await storage().listEvents({ merchantId, limit: 100 });
    const gone = items.filter(({ reference }) => [delivered.reference, silent.reference].includes(reference));
    const bytes = gone.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);

    storage.clock().advance(100 * DAY);
    const expected = { events: 2, attempts: 1, bytes };
    expect(await pruneAll(merchantId, { dryRun: true })).toEqual(expected);
    expect(await idsOf(merchantId)).toHaveLength(6);
    expect(await pruneAll(merchantId)).toEqual(expected);
    expect(await idsOf(merchantId)).toEqual(kept.map(({ id }) => id));
    expect(await pruneAll(merchantId)).toEqual({ events: 0, attempts: 0, bytes: 0 });

    expect(await storage().findDelivery(merchantId, delivered.id)).toBeUndefined();
    expect(await storage().requestReplay(merchantId, delivered.id, ACTOR)).toBe("unknown");
    const record = await storage().findDisbursement(merchantId, delivered.reference);
    expect(record).toMatchObject({ status: "success" });
    const { merchantsReference } = record!;
    const again = await storage().insertDisbursement(aDisbursement(merchantId, { merchantsReference }));
    expect(again).toEqual({ inserted: false, record });
    for (const { id } of kept.slice(0, 3)) {
      expect((await storage().findDelivery(merchantId, id))!.attempts).toHaveLength(1);
    }
    expect(await claimAll(storage(), { merchantId })).toMatchObject([{ event: { id: kept[3]!.id } }]);
  });

  test("keeps what is recent: the event, or an attempt to deliver it again", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const again = await attempted(merchantId, "delivered");
    storage.clock().advance(100 * DAY);
    await storage().requestReplay(merchantId, again.id, ACTOR);
    await attempt(merchantId, "delivered");
    const recent = await attempted(merchantId, "delivered");
    storage.clock().advance(89 * DAY);
    expect(await pruneAll(merchantId)).toMatchObject({ events: 0 });
    expect(await idsOf(merchantId)).toEqual([again.id, recent.id]);
    storage.clock().advance(2 * DAY);
    expect(await pruneAll(merchantId)).toMatchObject({ events: 2, attempts: 3 });
  });

  test("keeps a delivered event while it is being replayed", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { id } = await attempted(merchantId, "delivered");
    storage.clock().advance(100 * DAY);
    await storage().requestReplay(merchantId, id, ACTOR);
    const [claimed] = await claimAll(storage(), { leaseMs: DAY });
    expect(await pruneAll(merchantId)).toMatchObject({ events: 0 });
    const sentAt = now() - 100 * DAY;
    await storage().recordAttempt(claimed!, { at: sentAt, sentAt, latencyMs: 1 }, { status: "delivered", step: 1 });
    expect(await pruneAll(merchantId)).toMatchObject({ events: 1, attempts: 2 });
  });

  test("deletes of one merchant only, and never by a clock that was moved ahead", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    for (const { id } of [ada, kofi]) await attempted(id, "delivered");
    await storage().moveClock(ada.id, { by: 200 * DAY }, LATEST);
    expect(await pruneAll(ada.id)).toMatchObject({ events: 0 });
    storage.clock().advance(100 * DAY);
    expect(await pruneAll(ada.id)).toMatchObject({ events: 1 });
    expect(await idsOf(kofi.id)).toHaveLength(1);
  });
}
