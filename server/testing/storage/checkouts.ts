import { expect, test } from "vitest";
import { failureOf } from "../../domain/failures.ts";
import type { Current } from "./current.ts";
import { addMerchant, aCheckout, aCustomer, aDisbursement, concurrently, MINUTE, START, storedAt } from "./fixtures.ts";

const PAYER = "2250701234567";

export function checkoutTests(storage: Current): void {
  const soon = { afterMs: 2_000, status: "success" } as const;

  async function pendingCheckout() {
    const merchant = await addMerchant(storage());
    const { record: checkout } = await storage().insertCheckout(aCheckout(merchant.id));
    const read = async () => (await storage().findCheckout(merchant.id, checkout.reference))!;
    const events = async () => (await storage().listEvents({ merchantId: merchant.id, limit: 10 })).items;
    const types = async () => (await events()).map(({ type }) => type);
    return { merchant, checkout, reference: checkout.reference, read, events, types };
  }

  test("returns a checkout exactly as it was stored", async () => {
    const merchant = await addMerchant(storage());
    const full = aCheckout(merchant.id, {
      locale: "fr",
      webhookURL: "https://merchant.example/hook",
      redirectURL: "https://merchant.example/done?step=1",
    });
    const checkout = storedAt(full);
    expect(await storage().insertCheckout(full)).toEqual({ inserted: true, record: checkout });
    expect(await storage().findCheckout(merchant.id, full.reference)).toEqual(checkout);
    expect(await storage().findPublicCheckout(full.reference)).toEqual({ checkout, merchant });
    expect(await storage().findPublicCheckout("CHKnothing")).toBeUndefined();
  });

  test("stores exactly one of many concurrent checkouts with one reference (D7)", async () => {
    const merchant = await addMerchant(storage());
    const results = await concurrently(50, () =>
      storage().insertCheckout(aCheckout(merchant.id, { merchantsReference: "once" })),
    );
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
  });

  test("keeps merchants apart", async () => {
    const { checkout } = await pendingCheckout();
    const kofi = await addMerchant(storage());
    expect(await storage().findCheckout(kofi.id, checkout.reference)).toBeUndefined();
    const same = aCheckout(kofi.id, { merchantsReference: checkout.merchantsReference });
    expect(await storage().insertCheckout(same)).toMatchObject({ inserted: true });
  });

  test("paying sets the customer and replaces the expiry", async () => {
    const { checkout, merchant, reference, read, types } = await pendingCheckout();
    const customer = aCustomer(merchant.id, PAYER);
    storage.clock().advance(MINUTE);
    const failure = failureOf("customer_declined");
    expect(await storage().payCheckout(reference, PAYER, soon, failure)).toBe(true);
    const due = { at: START + MINUTE + 2_000, status: "success" };
    expect(await read()).toEqual({ ...checkout, customer, due, failure, updatedAt: START + MINUTE });
    expect(await types()).toEqual([]);
  });

  test("one of several concurrent payments succeeds", async () => {
    const { reference, read } = await pendingCheckout();
    const payers = Array.from({ length: 5 }, (_, index) => `225070123456${index}`);
    const paid = await concurrently(5, (index) => storage().payCheckout(reference, payers[index]!, soon));
    expect(paid.filter(Boolean)).toHaveLength(1);
    expect((await read()).customer!.phoneNumber).toBe(payers[paid.indexOf(true)]);
  });

  test("a payer with the number of a recipient is the same customer (D19)", async () => {
    const { merchant, reference, read } = await pendingCheckout();
    const payout = aDisbursement(merchant.id, { customer: { phoneNumber: PAYER } });
    const { record } = await storage().insertDisbursement(payout);
    await storage().payCheckout(reference, PAYER, soon);
    expect((await read()).customer).toEqual(record.customer);
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
  ] as const)("finishing as %s writes the event %s in the same transaction", async (status, type) => {
    const { checkout, reference, read, events, types } = await pendingCheckout();
    storage.clock().advance(MINUTE);
    expect(await storage().finishCheckout(reference, status)).toBe(true);
    const { due: _, ...rest } = checkout;
    expect(await read()).toEqual({ ...rest, status, updatedAt: START + MINUTE });
    expect(await types()).toEqual([type]);
    const [event] = await events();
    expect(event).toMatchObject({ createdAt: START + MINUTE, reference });
    expect(JSON.parse(event!.body)).toMatchObject({ event: type, data: { id: checkout.id, status } });
  });

  test("finishing replaces the reason with which a payment was going to fail", async () => {
    const { reference, read, events } = await pendingCheckout();
    await storage().payCheckout(reference, PAYER, soon, failureOf("customer_declined"));
    const failure = failureOf("declined");
    await storage().finishCheckout(reference, "failed", failure);
    expect((await read()).failure).toEqual(failure);
    expect(JSON.parse((await events())[0]!.body).data.failure).toEqual(failure);
  });

  test("a final checkout never changes", async () => {
    const { reference, read, types } = await pendingCheckout();
    await storage().finishCheckout(reference, "failed");
    const final = await read();
    storage.clock().advance(MINUTE);
    expect(await storage().finishCheckout(reference, "success")).toBe(false);
    expect(await storage().payCheckout(reference, PAYER, soon)).toBe(false);
    storage.clock().advance(60 * MINUTE);
    expect(await storage().settleDue(10)).toBe(0);
    expect(await read()).toEqual(final);
    expect(await types()).toEqual(["checkout.failed"]);
  });

  test("a payer can cancel only an unpaid checkout", async () => {
    const [unpaid, paid, final] = [await pendingCheckout(), await pendingCheckout(), await pendingCheckout()];
    await storage().payCheckout(paid.reference, PAYER, soon);
    await storage().finishCheckout(final.reference, "failed");
    storage.clock().advance(1_000);

    expect(await storage().cancelCheckout(unpaid.reference)).toBe(true);
    expect(await unpaid.read()).toMatchObject({ status: "cancelled", updatedAt: START + 1_000 });
    expect(await unpaid.read()).not.toHaveProperty("due");
    expect(await storage().cancelCheckout(unpaid.reference)).toBe(false);
    expect(await unpaid.types()).toEqual(["checkout.cancelled"]);

    expect(await storage().cancelCheckout(paid.reference)).toBe(false);
    expect(await paid.read()).toMatchObject({ status: "pending", due: { at: START + 2_000 } });
    expect(await paid.types()).toEqual([]);
    expect(await storage().cancelCheckout(final.reference)).toBe(false);
    expect(await final.types()).toEqual(["checkout.failed"]);
  });

  test("an unknown checkout can be neither paid nor finished", async () => {
    expect(await storage().payCheckout("CHKnothing", PAYER, soon)).toBe(false);
    expect(await storage().finishCheckout("CHKnothing", "success")).toBe(false);
    expect(await storage().cancelCheckout("CHKnothing")).toBe(false);
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
    const status = (await read()).status;
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
