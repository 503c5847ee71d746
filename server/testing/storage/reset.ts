import { expect, test } from "vitest";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Current } from "./current.ts";
import {
  aCheckout,
  ACTOR,
  addDelivery,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
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
    (await storage().listEvents({ merchantId, limit: 50 })).items.length;

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
    const customer = { ...again.customer, id: expect.any(String) };
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

  test("a reset of very many rows leaves none, and no other merchant's change", async () => {
    const kept = await busyMerchant("kept");
    const { id } = await addMerchant(storage());
    await concurrently(1_200, () => storage().insertDisbursement(aDisbursement(id)));
    await concurrently(20, () => addDelivery(storage(), id));
    await storage().countRefusal(id, "refused");
    // What is created while the steps go on is deleted completely or not at all.
    const made = Array.from({ length: 20 }, () => storage().insertDisbursement(aFinalDisbursement(id)));
    await Promise.all([storage().reset(id), ...made]);
    const { items } = await storage().listDisbursements({ merchantId: id, limit: 50 });
    expect(await countOfEvents(id)).toBe(items.length);
    const reserved = (await storage().listStatement({ merchantId: id, limit: 50 })).items.map(
      (entry) => entry.reference,
    );
    expect(new Set(reserved)).toEqual(new Set(items.map(({ reference }) => reference)));
    expect(await storage().countRefusal(id, "refused")).toBe(1);
    expect(await storage().findMerchant(id)).not.toHaveProperty("isResetting");

    expect(await storage().insertDisbursement(kept.again())).toMatchObject({ inserted: false });
    expect(await countOfEvents(kept.merchant.id)).toBe(1);
  });
}
