import { expect, test } from "vitest";
import type { Disbursement } from "../../domain/disbursements.ts";
import { failureOf } from "../../domain/failures.ts";
import type { Draft } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import {
  aCheckout,
  aCustomer,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  LATEST,
  MINUTE,
  START,
  storedAt,
} from "./fixtures.ts";

const PAYER = "2250701234567";
const SOON = { afterMs: 2_000, status: "success" } as const;
const to = (phoneNumber: string) => ({ customer: { phoneNumber } });
const failsAfter = (afterMs: number) => ({ due: { afterMs, status: "failed" } as const });
/** Distinct references that collation, trimming or Unicode normalisation would treat as equal. */
const REFERENCES = [
  "Payout|payout|PAYOUT| payout|payout |\ufeffpayout|pay out|pay  out|pay\u00a0out|p\u00e9age|pe\u0301age|\ufb01n|fin",
  "stra\u00dfe|strasse|\u0130|i|I|\u0131|👩‍👩‍👧|👩👩👧|١٢|12|012|%|_|'; DROP TABLE merchants; --|\u{10ffff}",
].flatMap((line) => line.split("|"));

/** Payouts and checkouts: what is stored, and how they end. */
export function paymentTests(storage: Current): void {
  async function pendingDisbursement(changes: Partial<Draft<Disbursement>> = {}) {
    const merchant = await addMerchant(storage());
    const { record } = await storage().insertDisbursement(aDisbursement(merchant.id, changes));
    const read = async () => (await storage().findDisbursement(merchant.id, record.reference))!;
    const events = async () => (await storage().listEvents({ merchantId: merchant.id, limit: 10 })).items;
    return { merchant, record, read, events };
  }
  async function pendingCheckout() {
    const merchant = await addMerchant(storage());
    const { record: checkout } = await storage().insertCheckout(aCheckout(merchant.id));
    const read = async () => (await storage().findCheckout(merchant.id, checkout.reference))!;
    const events = async () => (await storage().listEvents({ merchantId: merchant.id, limit: 10 })).items;
    const types = async () => (await events()).map(({ type }) => type);
    return { merchant, checkout, reference: checkout.reference, read, events, types };
  }

  test("returns a payout and a checkout exactly as they were stored, which may have one reference (D7)", async () => {
    const merchant = await addMerchant(storage());
    const webhookURL = "https://merchant.example/hook?a=%20b";
    const full = aDisbursement(merchant.id, { amount: Number.MAX_SAFE_INTEGER, fee: 90_071_992_547_410, webhookURL });
    const record = storedAt(full);
    const { reference, merchantsReference } = full;
    expect(await storage().insertDisbursement(full)).toEqual({ inserted: true, record });
    expect(await storage().findDisbursement(merchant.id, reference)).toEqual(record);
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, merchantsReference)).toEqual(record);
    for (const other of [merchantsReference, reference.toLowerCase()])
      expect(await storage().findDisbursement(merchant.id, other)).toBeUndefined();

    const redirectURL = "https://merchant.example/done?step=1";
    const draft = aCheckout(merchant.id, { locale: "fr", webhookURL, redirectURL, merchantsReference });
    const checkout = storedAt(draft);
    expect(await storage().insertCheckout(draft)).toEqual({ inserted: true, record: checkout });
    expect(await storage().findCheckout(merchant.id, draft.reference)).toEqual(checkout);
    expect(await storage().findPublicCheckout(draft.reference)).toEqual({ checkout, merchant });
    expect(await storage().findPublicCheckout("CHKnothing")).toBeUndefined();
  });

  test("distinguishes similar references and returns each exactly (D15)", async () => {
    const { id } = await addMerchant(storage());
    for (const inserted of [true, false])
      for (const merchantsReference of REFERENCES) {
        const stored = await storage().insertDisbursement(aDisbursement(id, { merchantsReference }));
        expect.soft(stored, merchantsReference).toMatchObject({ inserted, record: { merchantsReference } });
      }
  });

  test.each(["payouts", "checkouts"])("stores exactly one of many concurrent %s with one reference", async (kind) => {
    const { id } = await addMerchant(storage());
    const results = await concurrently<{ inserted: boolean; record: object }>(100, (index) => {
      const changes = { merchantsReference: "once", amount: index + 1 };
      return kind === "payouts"
        ? storage().insertDisbursement(aDisbursement(id, changes))
        : storage().insertCheckout(aCheckout(id, changes));
    });
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
  });

  test.each([
    ["success", "disbursement.completed"],
    ["failed", "disbursement.failed"],
  ] as const)("a payout that is %s from the start has its event %s, and no other", async (status, type) => {
    const { id: merchantId } = await addMerchant(storage());
    const { reference } = (await storage().insertDisbursement(aFinalDisbursement(merchantId, { status }))).record;
    await storage().insertDisbursement(aDisbursement(merchantId));
    const { items } = await storage().listEvents({ merchantId, limit: 10 });
    const id = expect.stringMatching(/^msg_[0-9a-f]{32}$/);
    const body = expect.stringContaining(`"status":"${status}"`);
    expect(items).toEqual([{ id, merchantId, type, reference, createdAt: START, body }]);
  });

  test("has one customer per merchant and phone number, also under concurrency and for payers (D19)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const customerOf = async (id: string, changes = {}) =>
      (await storage().insertDisbursement(aDisbursement(id, changes))).record.customer.id;
    const [first, ...more] = await concurrently(20, () => customerOf(ada.id, to(PAYER)));
    const { record } = await storage().insertCheckout(aCheckout(ada.id));
    await storage().payCheckout(record.reference, PAYER, SOON);
    const paid = await storage().findCheckout(ada.id, record.reference);
    expect(new Set([...more, paid!.customer!.id])).toEqual(new Set([first]));
    const others = [await customerOf(kofi.id, to(PAYER)), await customerOf(ada.id, to("2257038102474"))];
    await storage().reset(ada.id);
    others.push(await customerOf(ada.id, to(PAYER)));
    expect(others).not.toContain(first);
  });

  test("counts refusals for each merchant and reference", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const counted = await concurrently(5, () => storage().countRefusal(ada.id, "shy"));
    expect(counted.toSorted()).toEqual([1, 2, 3, 4, 5]);
    expect(await storage().countRefusal(ada.id, "Shy")).toBe(1);
    expect(await storage().countRefusal(kofi.id, "shy")).toBe(1);
  });

  test.each([
    ["success", "disbursement.completed"],
    ["failed", "disbursement.failed"],
  ] as const)("settles as %s when due and writes the event %s", async (status, type) => {
    const failure = failureOf("wallet_not_found", "No wallet: “é\u0000🐣”");
    const { record, read, events } = await pendingDisbursement({ due: { afterMs: 2_000, status }, failure });
    storage.clock().advance(1_999);
    expect(await storage().settleDue(10)).toBe(0);
    expect([await read(), await events()]).toEqual([record, []]);

    storage.clock().advance(1);
    expect(await storage().settleDue(10)).toBe(1);
    const { due: _, ...rest } = record;
    expect(await read()).toEqual({ ...rest, status, updatedAt: START + 2_000 });
    const [event, ...others] = await events();
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type, createdAt: START + 2_000, reference: record.reference });
    const { event: name, data } = JSON.parse(event!.body);
    expect([name, data]).toMatchObject([type, { id: record.id, status }]);
    expect(data.failure).toEqual(status === "failed" ? failure : undefined);
  });

  test("concurrent workers settle each payout once, with one event, in the order in which they fell due", async () => {
    const { id: merchantId } = await addMerchant(storage());
    for (const afterMs of [3_000, 1_000, 2_000])
      await storage().insertDisbursement(aDisbursement(merchantId, failsAfter(afterMs)));
    await storage().moveClock(merchantId, { by: MINUTE }, LATEST);
    let settled = 0;
    for (let done = 1; done > 0; settled += done) {
      const counts = await concurrently(5, () => storage().settleDue(1));
      done = counts.reduce((sum, count) => sum + count);
    }
    const { items } = await storage().listEvents({ merchantId, limit: 10, direction: "newer" });
    expect([settled, items.map(({ createdAt }) => createdAt - START)]).toEqual([3, [1_000, 2_000, 3_000]]);
  });

  test("settles at most `limit` records, in the order in which they fell due", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchantId, failsAfter(3_000)));
    await storage().insertCheckout(aCheckout(merchantId, failsAfter(2_000)));
    await storage().insertDisbursement(aDisbursement(merchantId, failsAfter(1_000)));
    await storage().moveClock(merchantId, { by: MINUTE }, LATEST);
    const counts = [];
    for (let turn = 0; turn < 3; turn += 1) counts.push(await storage().settleDue(2));
    expect(counts).toEqual([2, 1, 0]);
    const { items } = await storage().listEvents({ merchantId, limit: 10, direction: "newer" });
    expect(items.map(({ createdAt }) => createdAt - START)).toEqual([1_000, 2_000, 3_000]);
  });

  test("paying sets the customer and replaces the expiry; one of several concurrent payments succeeds", async () => {
    const { checkout, merchant, reference, read, types } = await pendingCheckout();
    storage.clock().advance(MINUTE);
    const failure = failureOf("customer_declined");
    const payers = Array.from({ length: 5 }, (_, index) => `225070123456${index}`);
    const paid = await concurrently(5, (index) => storage().payCheckout(reference, payers[index]!, SOON, failure));
    expect(paid.filter(Boolean)).toHaveLength(1);
    const customer = aCustomer(merchant.id, payers[paid.indexOf(true)]!);
    const due = { at: START + MINUTE + 2_000, status: "success" };
    expect(await read()).toEqual({ ...checkout, customer, due, failure, updatedAt: START + MINUTE });
    expect(await types()).toEqual([]);
  });

  test("a payment without an outcome stays pending (D17)", async () => {
    const { reference, read } = await pendingCheckout();
    expect(await storage().payCheckout(reference, PAYER, undefined)).toBe(true);
    expect(await read()).not.toHaveProperty("due");
    storage.clock().advance(1_000_000 * MINUTE);
    expect(await storage().settleDue(10)).toBe(0);
  });

  test.each([
    ["success", "checkout.completed"],
    ["failed", "checkout.failed"],
    ["cancelled", "checkout.cancelled"],
  ] as const)("finishing as %s writes the event %s, and is final", async (status, type) => {
    const { checkout, reference, read, events, types } = await pendingCheckout();
    storage.clock().advance(MINUTE);
    expect(await storage().finishCheckout(reference, status)).toBe(true);
    const { due: _, ...rest } = checkout;
    const final = { ...rest, status, updatedAt: START + MINUTE };
    expect(await read()).toEqual(final);
    const [event] = await events();
    expect(event).toMatchObject({ createdAt: START + MINUTE, reference });
    expect(JSON.parse(event!.body)).toMatchObject({ event: type, data: { id: checkout.id, status } });

    storage.clock().advance(MINUTE);
    expect(await storage().finishCheckout(reference, "success")).toBe(false);
    expect(await storage().payCheckout(reference, PAYER, SOON)).toBe(false);
    expect(await storage().cancelCheckout(reference)).toBe(false);
    storage.clock().advance(60 * MINUTE);
    expect([await storage().settleDue(10), await read(), await types()]).toEqual([0, final, [type]]);
  });

  test("finishing replaces the reason with which a payment was going to fail", async () => {
    const { reference, read, events } = await pendingCheckout();
    await storage().payCheckout(reference, PAYER, SOON, failureOf("customer_declined"));
    const failure = failureOf("declined");
    await storage().finishCheckout(reference, "failed", failure);
    expect([(await read()).failure, JSON.parse((await events())[0]!.body).data.failure]).toEqual([failure, failure]);
  });

  test("a payer can cancel only an unpaid checkout", async () => {
    const [unpaid, paid] = [await pendingCheckout(), await pendingCheckout()];
    await storage().payCheckout(paid.reference, PAYER, SOON);
    storage.clock().advance(1_000);
    expect(await storage().cancelCheckout(unpaid.reference)).toBe(true);
    expect(await unpaid.read()).toMatchObject({ status: "cancelled", updatedAt: START + 1_000 });
    expect(await unpaid.read()).not.toHaveProperty("due");
    expect(await unpaid.types()).toEqual(["checkout.cancelled"]);
    expect([await storage().cancelCheckout(paid.reference), await paid.types()]).toEqual([false, []]);
    expect(await paid.read()).toMatchObject({ status: "pending", due: { at: START + 2_000 } });
  });

  test("one of several concurrent finishes takes effect, with one event", async () => {
    const { reference, read, types } = await pendingCheckout();
    storage.clock().advance(31 * MINUTE);
    const ended = await Promise.all([
      storage().finishCheckout(reference, "success"),
      storage().settleDue(10),
      storage().finishCheckout(reference, "failed"),
      storage().settleDue(10),
      storage().finishCheckout(reference, "cancelled"),
    ]);
    expect(ended.map(Number).reduce((sum, count) => sum + count)).toBe(1);
    const { status } = await read();
    expect(await types()).toEqual([`checkout.${status === "success" ? "completed" : status}`]);
  });

  test("an unpaid checkout is cancelled when it expires (D9)", async () => {
    const { reference, read, types } = await pendingCheckout();
    storage.clock().advance(30 * MINUTE - 1);
    expect(await storage().settleDue(10)).toBe(0);
    storage.clock().advance(1);
    expect(await storage().settleDue(10)).toBe(1);
    expect(await read()).toMatchObject({ reference, status: "cancelled", updatedAt: START + 30 * MINUTE });
    expect(await types()).toEqual(["checkout.cancelled"]);
  });
}
