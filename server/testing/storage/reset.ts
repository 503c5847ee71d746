import { expect, test } from "vitest";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Current } from "./current.ts";
import {
  aCheckout,
  ACTOR,
  aCustomer,
  addDelivery,
  addKey,
  addMerchant,
  aDisbursement,
  ATTEMPT,
  claimAll,
  concurrently,
  HOUR,
  LATEST,
  START,
  storedAt,
} from "./fixtures.ts";

const YEAR = 365 * 24 * HOUR;

export function resetTests(storage: Current): void {
  const countOfEvents = async (merchantId: string) =>
    (await storage().listEvents({ merchantId, limit: 10 })).items.length;

  async function busyMerchant(label: string) {
    const merchant = await addMerchant(storage());
    const key = await addKey(storage(), merchant.id);
    await storage().insertDisbursement(aDisbursement(merchant.id, { merchantsReference: "same" }));
    await storage().insertCheckout(aCheckout(merchant.id, { reference: `CHK${label}` }));
    await addDelivery(storage(), merchant.id);
    await storage().countRefusal(merchant.id, "refused");
    await storage().moveClock(merchant.id, { by: HOUR }, LATEST);
    return { merchant, key, again: () => aDisbursement(merchant.id, { merchantsReference: "same" }) };
  }

  test("deletes one merchant's records and resets its clock; keys and secret stay", async () => {
    const [reset, kept] = [await busyMerchant("reset"), await busyMerchant("kept")];
    const { merchant } = reset;
    const secrets = await storage().readSecrets(merchant.id);
    await storage().reset(merchant.id);

    expect(await storage().findMerchant(merchant.id)).toEqual(merchant);
    expect(await storage().findPublicCheckout("CHKreset")).toBeUndefined();
    expect(await storage().hasDue(merchant.id, LATEST)).toBe(false);
    expect(await countOfEvents(merchant.id)).toBe(0);
    expect(await storage().countRefusal(merchant.id, "refused")).toBe(1);
    expect(await storage().readSecrets(merchant.id)).toEqual(secrets);
    expect((await storage().findMerchantByKey(reset.key.hash))?.merchant).toEqual(merchant);
    const again = reset.again();
    const customer = aCustomer(again.merchantId, again.customer.phoneNumber, 1);
    expect(await storage().insertDisbursement(again)).toEqual({
      inserted: true,
      record: { ...storedAt(again), customer },
    });

    expect(await storage().findMerchant(kept.merchant.id)).toMatchObject({ clockOffset: HOUR });
    expect(await storage().findPublicCheckout("CHKkept")).toBeDefined();
    expect(await countOfEvents(kept.merchant.id)).toBe(1);
    expect(await storage().countRefusal(kept.merchant.id, "refused")).toBe(2);
    expect(await storage().insertDisbursement(kept.again())).toMatchObject({ inserted: false });

    // What was pending before the reset never ends.
    storage.clock().advance(HOUR);
    while ((await storage().settleDue(100)) > 0);
    expect(await countOfEvents(merchant.id)).toBe(1);
    expect(await claimAll(storage(), { merchantId: merchant.id })).toEqual([]);
  });

  test("ends a secret rotation: resetting the clock does not revive an expired secret", async () => {
    const { id } = await addMerchant(storage());
    const { current } = await storage().rotateSecret(id, "whsec_new", { keepMs: HOUR, maxPrevious: 5, actor: ACTOR });
    await storage().reset(id);
    expect(await storage().readSecrets(id)).toEqual({ current, previous: [] });
  });

  test("a disbursement created during a reset is deleted or dated in real time", async () => {
    const { id } = await addMerchant(storage());
    const kept: Disbursement[] = [];
    for (let round = 0; round < 20; round += 1) {
      await storage().moveClock(id, { by: YEAR }, LATEST);
      const insert = () => storage().insertDisbursement(aDisbursement(id));
      const [before, , after] = await Promise.all([insert(), storage().reset(id), insert()]);
      for (const { record } of [before, after]) {
        const found = await storage().findDisbursement(id, record.reference);
        if (found) kept.push(found);
      }
    }
    const dates = kept.map(({ createdAt, due }) => [createdAt, due!.at]);
    expect(new Set(dates.map(String))).toEqual(new Set([String([START, START + 2_000])]));
  });

  test("the result of an attempt in progress is dropped", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    const [claimed] = await claimAll(storage());
    await storage().reset(merchant.id);
    expect(await storage().recordAttempt(claimed!, ATTEMPT, { status: "delivered", step: 1 })).toBe(false);
    expect(await storage().findDelivery(merchant.id, id)).toBeUndefined();
    expect((await storage().listDeliveries({ merchantId: merchant.id, limit: 10 })).items).toEqual([]);
  });

  test("pruning deletes the reset merchant's rows, and only those, in bounded steps", async () => {
    const kept = await busyMerchant("kept");
    const gone: Merchant = await addMerchant(storage());
    await concurrently(50, () => addDelivery(storage(), gone.id));
    await concurrently(50, () => storage().insertCheckout(aCheckout(gone.id)));
    await storage().reset(gone.id);
    const steps: number[] = [];
    for (let deleted = 1; deleted > 0;) steps.push((deleted = await storage().prune(30)));
    for (const step of steps) expect(step).toBeLessThanOrEqual(60);
    expect(steps.length).toBeGreaterThan(3);
    // The rows are 50 disbursements, each with its event and two entries, 50 checkouts, one customer and one account.
    expect(steps.reduce((sum, count) => sum + count)).toBe(251);
    expect(await storage().prune(30)).toBe(0);
    expect(await storage().insertDisbursement(kept.again())).toMatchObject({ inserted: false });
    expect(await countOfEvents(kept.merchant.id)).toBe(1);
  });
}
