import { expect, test } from "vitest";
import type { Current } from "./suite.ts";
import { addMerchant, aCheckout, aDisbursement, atOnce, MINUTE, nextId, START } from "./fixtures.ts";

const payer = () => ({ id: nextId(), phoneNumber: "2250701234567" });

export function checkoutTests(storage: Current): void {
  const soon = { at: START + MINUTE + 2_000, status: "success" } as const;

  async function pendingCheckout() {
    const merchant = await addMerchant(storage());
    const checkout = aCheckout(merchant.id);
    await storage().insertCheckout(checkout);
    const read = async () => (await storage().findCheckout(merchant.id, checkout.reference))!;
    const types = async () =>
      (await storage().listEvents({ merchantId: merchant.id, limit: 10 })).map(({ type }) => type);
    return { merchant, checkout, reference: checkout.reference, read, types };
  }

  test("a checkout is found again as it was recorded", async () => {
    const merchant = await addMerchant(storage());
    const full = aCheckout(merchant.id, {
      locale: "fr",
      webhookURL: "https://merchant.example/hook",
      redirectURL: "https://merchant.example/done?step=1",
    });
    expect(await storage().insertCheckout(full)).toEqual({ inserted: true, record: full });
    expect(await storage().findCheckout(merchant.id, full.reference)).toEqual(full);
    expect(await storage().findPublicCheckout(full.reference)).toEqual({ checkout: full, merchant });
    expect(await storage().findPublicCheckout("CHKnothing")).toBeUndefined();
  });

  test("of many that arrive at once with one reference exactly one is recorded (D7)", async () => {
    const merchant = await addMerchant(storage());
    const results = await atOnce(50, () =>
      storage().insertCheckout(aCheckout(merchant.id, { merchantsReference: "once" })),
    );
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
  });

  test("merchants do not see each other's checkouts", async () => {
    const { checkout } = await pendingCheckout();
    const kofi = await addMerchant(storage());
    expect(await storage().findCheckout(kofi.id, checkout.reference)).toBeUndefined();
    const same = aCheckout(kofi.id, { merchantsReference: checkout.merchantsReference });
    expect(await storage().insertCheckout(same)).toMatchObject({ inserted: true });
  });

  test("paying names the customer and takes the place of expiry", async () => {
    const { checkout, reference, read, types } = await pendingCheckout();
    const customer = payer();
    expect(await storage().payCheckout(reference, customer, soon, START + MINUTE)).toBe(true);
    expect(await read()).toEqual({ ...checkout, customer, due: soon, updatedAt: START + MINUTE });
    expect(await types()).toEqual([]);
  });

  test("a checkout is paid once, also when two tabs pay at once", async () => {
    const { reference, read } = await pendingCheckout();
    const payers = Array.from({ length: 5 }, (_, index) => ({ id: nextId(), phoneNumber: `225070123456${index}` }));
    const paid = await atOnce(5, (index) => storage().payCheckout(reference, payers[index]!, soon, START));
    expect(paid.filter(Boolean)).toHaveLength(1);
    expect((await read()).customer).toEqual(payers[paid.indexOf(true)]);
  });

  test("a payer who was paid to before is the same customer (D19)", async () => {
    const { merchant, reference, read } = await pendingCheckout();
    const customer = payer();
    await storage().insertDisbursement(aDisbursement(merchant.id, { customer }));
    await storage().payCheckout(reference, payer(), soon, START);
    expect((await read()).customer).toEqual(customer);
  });

  test("a payment without an end stays pending for ever (D17)", async () => {
    const { reference, read } = await pendingCheckout();
    expect(await storage().payCheckout(reference, payer(), undefined, START)).toBe(true);
    expect(await read()).not.toHaveProperty("due");
    expect(await storage().settleDue(START + 1_000_000 * MINUTE, 10)).toBe(0);
  });

  test.each([
    ["success", "checkout.completed"],
    ["failed", "checkout.failed"],
    ["cancelled", "checkout.cancelled"],
  ] as const)("finishing as %s writes the event %s in the same step", async (status, type) => {
    const { merchant, checkout, reference, read, types } = await pendingCheckout();
    expect(await storage().finishCheckout(reference, status, START + MINUTE)).toBe(true);
    const { due: _, ...rest } = checkout;
    expect(await read()).toEqual({ ...rest, status, updatedAt: START + MINUTE });
    expect(await types()).toEqual([type]);
    const [event] = await storage().listEvents({ merchantId: merchant.id, limit: 10 });
    expect(event).toMatchObject({ createdAt: START + MINUTE, record: await read() });
  });

  test("a final checkout does not change any more", async () => {
    const { reference, read, types } = await pendingCheckout();
    await storage().finishCheckout(reference, "failed", START);
    const final = await read();
    expect(await storage().finishCheckout(reference, "success", START + MINUTE)).toBe(false);
    expect(await storage().payCheckout(reference, payer(), soon, START + MINUTE)).toBe(false);
    expect(await storage().settleDue(START + 60 * MINUTE, 10)).toBe(0);
    expect(await read()).toEqual(final);
    expect(await types()).toEqual(["checkout.failed"]);
  });

  test("a payer can cancel what is unpaid, and nothing else", async () => {
    const [unpaid, paid, final] = [await pendingCheckout(), await pendingCheckout(), await pendingCheckout()];
    await storage().payCheckout(paid.reference, payer(), soon, START);
    await storage().finishCheckout(final.reference, "failed", START);

    expect(await storage().cancelCheckout(unpaid.reference, START + MINUTE)).toBe(true);
    expect(await unpaid.read()).toMatchObject({ status: "cancelled", updatedAt: START + MINUTE });
    expect(await unpaid.types()).toEqual(["checkout.cancelled"]);

    expect(await storage().cancelCheckout(paid.reference, START)).toBe(false);
    expect(await paid.read()).toMatchObject({ status: "pending", due: soon });
    expect(await storage().cancelCheckout(final.reference, START)).toBe(false);
    expect(await final.types()).toEqual(["checkout.failed"]);
    expect(await storage().cancelCheckout("CHKnothing", START)).toBe(false);
  });

  test("what does not exist is neither paid nor finished", async () => {
    expect(await storage().payCheckout("CHKnothing", payer(), soon, START)).toBe(false);
    expect(await storage().finishCheckout("CHKnothing", "success", START)).toBe(false);
  });

  test("cancelling ends what was not paid, and nothing else", async () => {
    const unpaid = await pendingCheckout();
    expect(await storage().cancelCheckout(unpaid.reference, START + MINUTE)).toBe(true);
    expect(await unpaid.read()).toMatchObject({ status: "cancelled", updatedAt: START + MINUTE });
    expect(await unpaid.read()).not.toHaveProperty("due");
    expect(await storage().cancelCheckout(unpaid.reference, START + MINUTE)).toBe(false);
    expect(await unpaid.types()).toEqual(["checkout.cancelled"]);

    const paid = await pendingCheckout();
    await storage().payCheckout(paid.reference, payer(), soon, START);
    expect(await storage().cancelCheckout(paid.reference, START)).toBe(false);
    expect(await paid.read()).toMatchObject({ status: "pending", due: soon });
    expect(await paid.types()).toEqual([]);
  });

  test("of all that would end a checkout at once, one does, with one event", async () => {
    const { reference, read, types } = await pendingCheckout();
    const late = START + 31 * MINUTE;
    const ended = await Promise.all([
      storage().finishCheckout(reference, "success", late),
      storage().settleDue(late, 10),
      storage().finishCheckout(reference, "failed", late),
      storage().settleDue(late, 10),
      storage().finishCheckout(reference, "cancelled", late),
    ]);
    expect(ended.map(Number).reduce((sum, count) => sum + count)).toBe(1);
    const status = (await read()).status;
    expect(await types()).toEqual([`checkout.${status === "success" ? "completed" : status}`]);
  });

  test("an unpaid checkout is cancelled when its time is over (D9)", async () => {
    const { reference, read, types } = await pendingCheckout();
    expect(await storage().settleDue(START + 30 * MINUTE - 1, 10)).toBe(0);
    expect(await storage().settleDue(START + 30 * MINUTE, 10)).toBe(1);
    expect(await read()).toMatchObject({ reference, status: "cancelled", updatedAt: START + 30 * MINUTE });
    expect(await types()).toEqual(["checkout.cancelled"]);
  });
}
