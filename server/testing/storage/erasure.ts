import { expect, test } from "vitest";
import type { Current } from "./current.ts";
import {
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  claimAll,
  DAY,
  HOUR,
  MINUTE,
  START,
} from "./fixtures.ts";

const PHONE = "2250775398815";
const ERASED = "2250000000000";

/** Erasure of phone numbers (D102). */
export function erasureTests(storage: Current): void {
  const now = () => storage.clock().now();

  /** Takes all steps, and returns the number of erased records. */
  async function eraseAll(merchantId: string, { olderThan = 30 * DAY, limit = 2 } = {}) {
    let sum = 0;
    for (let isDone = false; !isDone;) {
      const step = await storage().erasePhones({ merchantId, before: now() - olderThan, limit });
      sum += step.erased;
      ({ isDone } = step);
    }
    return sum;
  }
  const pay = async (merchantId: string, changes: Parameters<typeof aFinalDisbursement>[1] = {}) =>
    (
      await storage().insertDisbursement(
        aFinalDisbursement(merchantId, { customer: { phoneNumber: PHONE }, ...changes }),
      )
    ).record;
  const phoneOf = async (merchantId: string, reference: string) =>
    (await storage().findDisbursement(merchantId, reference))!.customer.phoneNumber;

  test("erases the numbers of old final records and of their webhooks, and nothing else", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { id: other } = await addMerchant(storage());
    const digits = { amount: Number(PHONE), merchantsReference: PHONE };
    const paid = await pay(merchantId, { webhookURL: "https://merchant.example/hook", ...digits });
    const foreign = await pay(other);
    const [claimed] = await claimAll(storage(), { merchantId });
    const attempt = {
      at: now(),
      sentAt: now(),
      latencyMs: 1,
      httpStatus: 200,
      responseBody: `thanks, 0${PHONE.slice(3)}`,
    };
    await storage().recordAttempt(claimed!, attempt, { status: "delivered", step: 1 });
    const { record: checkout } = await storage().insertCheckout(aCheckout(merchantId));
    await storage().payCheckout(checkout.reference, PHONE, { afterMs: 0, status: "success" });
    await storage().insertCheckout(aCheckout(merchantId, { due: { afterMs: 0, status: "cancelled" } }));
    await storage().settleDue(10);
    storage.clock().advance(31 * DAY);
    const recent = await pay(merchantId);

    expect(await eraseAll(merchantId)).toBe(2);
    const erased = { customer: { id: paid.customer.id, phoneNumber: ERASED } };
    expect(await storage().findDisbursement(merchantId, paid.reference)).toEqual({ ...paid, ...erased });
    expect(await storage().findCheckout(merchantId, checkout.reference)).toMatchObject({
      status: "success",
      ...erased,
    });
    expect(await phoneOf(merchantId, recent.reference)).toBe(PHONE);
    expect(await phoneOf(other, foreign.reference)).toBe(PHONE);
    const delivery = await storage().findDelivery(merchantId, claimed!.event.id);
    // The amount and the reference have the same digits as the number, and stay.
    const { event, data } = JSON.parse(claimed!.event.body) as { event: string; data: { customer: object } };
    const customer = { ...data.customer, name: "Customer 0000", phoneNumber: ERASED };
    expect(delivery!.body).toBe(JSON.stringify({ event, data: { ...data, customer } }));
    expect(delivery!.attempts).toEqual([expect.not.objectContaining({ responseBody: expect.anything() })]);

    const { items } = await storage().listDisbursements({ merchantId, phoneNumber: PHONE, limit: 10 });
    expect(items.map(({ reference }) => reference)).toEqual([recent.reference]);
    const { merchantsReference } = paid;
    const again = await storage().insertDisbursement(aDisbursement(merchantId, { merchantsReference }));
    expect(again).toMatchObject({ inserted: false, record: { reference: paid.reference } });
    expect(recent.customer.id).toBe(paid.customer.id);
    expect(await eraseAll(merchantId)).toBe(0);
  });

  test("erases a number once the record has been final for long enough, however long it was pending", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { due: _, ...pending } = aDisbursement(merchantId, { customer: { phoneNumber: PHONE } });
    const due = { afterMs: 40 * DAY, status: "success" } as const;
    const { record: slow } = await storage().insertDisbursement({ ...pending, due });
    const { record: never } = await storage().insertDisbursement({
      ...aDisbursement(merchantId),
      due: { ...due, afterMs: 900 * DAY },
    });
    const many = [];
    for (let count = 0; count < 7; count += 1) many.push(await pay(merchantId));
    storage.clock().advance(31 * DAY);
    expect(await eraseAll(merchantId)).toBe(7);
    for (const { reference } of many) expect(await phoneOf(merchantId, reference)).toBe(ERASED);

    storage.clock().advance(10 * DAY);
    await storage().settleDue(10);
    storage.clock().advance(20 * DAY);
    expect(await eraseAll(merchantId)).toBe(0);
    expect(await phoneOf(merchantId, slow.reference)).toBe(PHONE);
    storage.clock().advance(11 * DAY);
    expect(await eraseAll(merchantId)).toBe(1);
    expect(await phoneOf(merchantId, slow.reference)).toBe(ERASED);
    expect(await phoneOf(merchantId, never.reference)).not.toBe(ERASED);
  });

  test("erases what was created after a clock that was ahead by a year has been corrected", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await pay(merchantId);
    for (const [at, erased] of [
      [START + 365 * DAY, 1],
      [START, 0],
    ] as const) {
      storage.clock().set(at);
      await storage().ping();
      expect(await eraseAll(merchantId)).toBe(erased);
    }
    await pay(merchantId);
    storage.clock().advance(31 * DAY);
    expect(await eraseAll(merchantId)).toBe(1);
  });

  test("erases what a rail said about the number", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const { due: _, ...draft } = aDisbursement(merchantId, { customer: { phoneNumber: PHONE } });
    const { reference } = (await storage().insertDisbursement({ ...draft, rail: "mobile" })).record;
    const [claim] = await storage().claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);
    const exchange = {
      at: now(),
      action: "pay",
      latencyMs: 12,
      result: "failed",
      detail: `no wallet 00${PHONE}, 0${PHONE.slice(3)}; amount 20250101`,
    } as const;
    const failure = { code: "recipient_unreachable", message: `${PHONE} has no wallet` };
    const answer = { status: "failed", failure } as never;
    await storage().recordHandover(claim!, { exchanges: [exchange], askAgainAfterMs: MINUTE, answer });
    storage.clock().advance(31 * DAY);
    expect(await eraseAll(merchantId)).toBe(1);
    const record = await storage().findDisbursement(merchantId, reference);
    expect(record).toMatchObject({ status: "failed" });
    const exchanges = await storage().listExchanges(reference);
    expect(exchanges).toMatchObject([{ detail: `no wallet 00${ERASED}, 00000000000; amount 20250101` }]);
    const handover = await storage().findHandover(reference);
    expect(JSON.stringify([record, exchanges, handover])).not.toContain(PHONE);
  });

  test("a reset of the sandbox begins anew, and what it leaves is deleted", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await pay(merchantId);
    storage.clock().advance(31 * DAY);
    expect(await eraseAll(merchantId)).toBe(1);
    await storage().reset(merchantId);
    const { reference } = await pay(merchantId);
    storage.clock().advance(30 * DAY + HOUR);
    expect(await eraseAll(merchantId)).toBe(1);
    expect(await phoneOf(merchantId, reference)).toBe(ERASED);
    while ((await storage().prune(100)) > 0);
  });
}
