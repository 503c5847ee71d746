import { expect, test } from "vitest";
import type { Disbursement } from "../../domain/disbursements.ts";
import { failureOf } from "../../domain/failures.ts";
import type { Draft } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import { addMerchant, aCheckout, aDisbursement, concurrently, LATEST, MINUTE, START } from "./fixtures.ts";

const after = (afterMs: number) => ({ due: { afterMs, status: "failed" } as const });

export function settlementTests(storage: Current): void {
  async function pendingDisbursement(changes: Partial<Draft<Disbursement>> = {}) {
    const merchant = await addMerchant(storage());
    const { record } = await storage().insertDisbursement(aDisbursement(merchant.id, changes));
    const read = async () => (await storage().findDisbursement(merchant.id, record.reference))!;
    const events = async () => (await storage().listEvents({ merchantId: merchant.id, limit: 10 })).items;
    return { merchant, record, read, events };
  }

  test.each([
    ["success", "disbursement.completed"],
    ["failed", "disbursement.failed"],
  ] as const)("settles as %s when due and writes the event %s", async (status, type) => {
    const failure = failureOf("wallet_not_found", "No wallet: “é\u0000🐣”");
    const { record, read, events } = await pendingDisbursement({ due: { afterMs: 2_000, status }, failure });
    storage.clock().advance(1_999);
    expect(await storage().settleDue(10)).toBe(0);
    expect(await read()).toEqual(record);
    expect(await events()).toEqual([]);

    storage.clock().advance(1);
    expect(await storage().settleDue(10)).toBe(1);
    const { due: _, ...rest } = record;
    expect(await read()).toEqual({ ...rest, status, updatedAt: START + 2_000 });
    const [event, ...others] = await events();
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type, createdAt: START + 2_000, reference: record.reference });
    const { event: name, data } = JSON.parse(event!.body);
    expect(name).toBe(type);
    expect(data).toMatchObject({ id: record.id, status });
    expect(data.failure).toEqual(status === "failed" ? failure : undefined);
  });

  test("concurrent workers settle each disbursement once, with one event", async () => {
    const { merchant, events } = await pendingDisbursement();
    storage.clock().advance(MINUTE);
    const counts = await concurrently(5, () => storage().settleDue(10));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    expect(await events()).toHaveLength(1);
    expect(await storage().settleDue(10, merchant.id)).toBe(0);
  });

  test("settles at most `limit` disbursements and checkouts in total", async () => {
    const merchant = await addMerchant(storage());
    await concurrently(3, () => storage().insertDisbursement(aDisbursement(merchant.id)));
    await concurrently(2, () => storage().insertCheckout(aCheckout(merchant.id)));
    storage.clock().advance(60 * MINUTE);
    const counts: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) counts.push(await storage().settleDue(2));
    expect(counts).toEqual([2, 2, 1, 0]);
  });

  test("settles records in the order in which they fell due", async () => {
    const merchant = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchant.id, after(3_000)));
    await storage().insertCheckout(aCheckout(merchant.id, after(2_000)));
    await storage().insertDisbursement(aDisbursement(merchant.id, after(1_000)));
    await storage().moveClock(merchant.id, { by: MINUTE }, LATEST);
    for (let settled = 1; settled > 0;) settled = await storage().settleDue(1, merchant.id);
    const { items } = await storage().listEvents({ merchantId: merchant.id, limit: 10, direction: "newer" });
    expect(items.map(({ createdAt }) => createdAt - START)).toEqual([1_000, 2_000, 3_000]);
  });

  test("a disbursement that never settles stays pending", async () => {
    const merchant = await addMerchant(storage());
    const { due: _, ...endless } = aDisbursement(merchant.id);
    await storage().insertDisbursement(endless);
    storage.clock().advance(1_000_000 * MINUTE);
    expect(await storage().settleDue(10)).toBe(0);
    expect(await storage().hasDue(merchant.id, LATEST)).toBe(false);
  });

  test("settles the records of one merchant", async () => {
    const [ada, kofi] = [await pendingDisbursement(), await pendingDisbursement()];
    storage.clock().advance(MINUTE);
    expect(await storage().settleDue(10, ada.merchant.id)).toBe(1);
    expect(await ada.read()).toMatchObject({ status: "success" });
    expect(await kofi.read()).toMatchObject({ status: "pending" });
  });

  test("after an outage records settle with the current time", async () => {
    const { read } = await pendingDisbursement();
    storage.clock().advance(MINUTE);
    await storage().settleDue(10);
    expect(await read()).toMatchObject({ status: "success", updatedAt: START + MINUTE });
  });
}
