import { beforeEach, describe, expect, test } from "vitest";
import { failureOf, type Checkout } from "../../domain/records.ts";
import {
  ACTOR,
  aCheckout,
  aCustomer,
  ADA,
  aDisbursement,
  concurrently,
  KOFI,
  storedAt,
  type Current,
} from "./fixtures.ts";
import { MINUTE, START } from "../times.ts";

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
export function paymentTests(current: Current): void {
  const { storage, pass, payout, finalPayout, events } = current;
  const id = ADA;
  test("returns a payout and a checkout exactly as they were stored, which may have one reference (D6)", async () => {
    const webhookURL = "https://merchant.example/hook?a=%20b";
    const full = aDisbursement(id, { amount: Number.MAX_SAFE_INTEGER, fee: 90_071_992_547_410, webhookURL });
    const record = storedAt(full);
    const { reference, merchantsReference } = full;
    expect(await storage.insertDisbursement(full)).toEqual({ inserted: true, record });
    expect(await storage.findDisbursement(id, reference)).toEqual(record);
    expect((await storage.listDisbursements({ merchantId: id, merchantsReference, limit: 2 })).items).toEqual([record]);
    for (const other of [merchantsReference, reference.toLowerCase()])
      expect(await storage.findDisbursement(id, other)).toBeUndefined();

    const redirectURL = "https://merchant.example/done?step=1";
    const draft = aCheckout(id, { locale: "fr", webhookURL, redirectURL, merchantsReference });
    const checkout = storedAt(draft);
    expect(await storage.insertCheckout(draft)).toEqual({ inserted: true, record: checkout });
    expect(await storage.findCheckout(id, draft.reference)).toEqual(checkout);
    expect(await storage.findPublicCheckout(draft.reference)).toMatchObject({ checkout, merchant: { id: ADA } });
    expect(await storage.findPublicCheckout("CHKnothing")).toBeUndefined();
  });

  test("distinguishes similar references and returns each exactly (D15)", async () => {
    for (const inserted of [true, false])
      for (const merchantsReference of REFERENCES) {
        const stored = await storage.insertDisbursement(aDisbursement(id, { merchantsReference }));
        expect.soft(stored, merchantsReference).toMatchObject({ inserted, record: { merchantsReference } });
      }
  });

  test.each(["payouts", "checkouts"])("stores exactly one of many concurrent %s with one reference", async (kind) => {
    const results = await concurrently<{ inserted: boolean; record: object }>(100, (index) => {
      const changes = { merchantsReference: "once", amount: index + 1 };
      return kind === "payouts"
        ? storage.insertDisbursement(aDisbursement(id, changes))
        : storage.insertCheckout(aCheckout(id, changes));
    });
    const [winner, ...others] = results.filter(({ inserted }) => inserted);
    expect(others).toEqual([]);
    for (const { record } of results) expect(record).toEqual(winner!.record);
  });

  test("has one customer per merchant and phone number, also under concurrency and for payers (D19)", async () => {
    const customerOf = async (merchantId: string, phoneNumber = PAYER) =>
      (await payout(merchantId, to(phoneNumber))).customer.id;
    const [first, ...more] = await concurrently(20, () => customerOf(id));
    const { reference } = await current.checkout(id);
    await storage.payCheckout(reference, PAYER, SOON);
    const paid = await storage.findCheckout(id, reference);
    expect(new Set([...more, paid!.customer!.id])).toEqual(new Set([first]));
    const others = [await customerOf(KOFI), await customerOf(id, "2257038102474")];
    await storage.reset(id, ACTOR);
    expect([...others, await customerOf(id)]).not.toContain(first);
  });

  test("counts refusals for each merchant and reference", async () => {
    const counted = await concurrently(5, () => storage.countRefusal(id, "shy"));
    expect(counted.toSorted()).toEqual([1, 2, 3, 4, 5]);
    expect([await storage.countRefusal(id, "Shy"), await storage.countRefusal(KOFI, "shy")]).toEqual([1, 1]);
  });

  describe.each([
    ["success", "disbursement.completed"],
    ["failed", "disbursement.failed"],
  ] as const)("a payout ends as %s", (status, type) => {
    test("from the start, with its event and no other", async () => {
      const { reference } = await finalPayout(id, { status });
      await payout(id);
      const body = expect.stringContaining(`"status":"${status}"`);
      const event = { id: expect.stringMatching(/^msg_[0-9a-f]{32}$/), merchantId: id, reference, createdAt: START };
      expect(await events(id)).toEqual([{ ...event, type, body }]);
    });

    test("when due, not before, and writes its event", async () => {
      const failure = failureOf("wallet_not_found", "No wallet: “é\u0000🐣”");
      const record = await payout(id, { due: { afterMs: 2_000, status }, failure });
      const read = () => storage.findDisbursement(id, record.reference);
      pass(1_999);
      expect([await storage.settleDue(10), await read(), await events(id)]).toEqual([0, record, []]);
      pass(1);
      const { due: _, ...rest } = record;
      const final = { ...rest, status, updatedAt: START + 2_000 };
      expect([await storage.settleDue(10), await read()]).toEqual([1, final]);
      const [event, ...others] = await events(id);
      expect([event, others]).toMatchObject([{ type, createdAt: START + 2_000, reference: record.reference }, []]);
      const { event: name, data } = JSON.parse(event!.body);
      expect([name, data]).toMatchObject([type, { id: record.id, status }]);
      expect(data.failure).toEqual(status === "failed" ? failure : undefined);
    });
  });

  test("a pending payout is finished once, with one event, by several concurrent ends, and is final", async () => {
    const failure = failureOf("wallet_blocked");
    const { reference } = await payout(id, failsAfter(MINUTE));
    pass(MINUTE);
    const finish = (status: "success" | "failed", why = failure) =>
      storage.finishDisbursement(id, reference, status, why);
    const ended = await Promise.all([finish("success"), storage.settleDue(10), finish("failed"), finish("success")]);
    expect(ended.map(Number).toSorted()).toEqual([0, 0, 0, 1]);
    const { status, due } = (await storage.findDisbursement(id, reference))!;
    const type = `disbursement.${status === "success" ? "completed" : "failed"}`;
    expect([due, await events(id)]).toMatchObject([undefined, [{ type, createdAt: START + MINUTE }]]);
    expect(await storage.finishDisbursement(KOFI, (await payout(id)).reference, "success")).toBe(false);
  });

  test.each([
    ["success", failureOf("declined"), "wallet_blocked", undefined],
    ["failed", failureOf("wallet_limit_reached"), "wallet_blocked", "wallet_blocked"],
    ["failed", failureOf("wallet_limit_reached"), undefined, "wallet_limit_reached"],
    ["failed", undefined, undefined, "declined"],
  ] as const)("a payout that is finished as %s, was due to fail with %o, given %s, has %s", async (...row) => {
    const [status, failure, code, why] = row;
    const { reference } = await payout(id, { ...failsAfter(MINUTE), failure });
    const given = code && failureOf(code);
    expect(await storage.finishDisbursement(id, reference, status, given)).toBe(true);
    const found = (await storage.findDisbursement(id, reference))!;
    const { data } = JSON.parse((await events(id))[0]!.body);
    expect([found.status, found.failure?.code, data.failure?.code]).toEqual([status, why, why]);
  });

  test("concurrent workers settle at most `limit` each, each record once, in the order in which they fell due", async () => {
    await payout(id, failsAfter(3_000));
    await current.checkout(id, failsAfter(2_000));
    for (const afterMs of [1_000, 5_000, 4_000]) await payout(id, failsAfter(afterMs));
    await storage.moveClock(id, { by: MINUTE }, ACTOR);
    const order = async () => (await events(id)).map(({ createdAt }) => createdAt - START).toReversed();
    expect([await storage.settleDue(2), await order()]).toEqual([2, [1_000, 2_000]]);
    let settled = 2;
    for (let done = 1; done > 0; settled += done)
      done = (await concurrently(5, () => storage.settleDue(1))).reduce((sum, count) => sum + count);
    expect([settled, await order()]).toEqual([5, [1_000, 2_000, 3_000, 4_000, 5_000]]);
  });

  describe("a checkout", () => {
    let checkout: Checkout;
    let reference: string;
    beforeEach(async () => {
      checkout = await current.checkout(id);
      ({ reference } = checkout);
    });
    const read = async () => (await storage.findCheckout(id, reference))!;
    const types = async () => (await events(id, reference)).map(({ type }) => type);

    test("that is paid gets its customer and an end; one of several concurrent payments succeeds", async () => {
      pass(MINUTE);
      const failure = failureOf("customer_declined");
      const payers = Array.from({ length: 5 }, (_, index) => `225070123456${index}`);
      const paid = await concurrently(5, (index) => storage.payCheckout(reference, payers[index]!, SOON, failure));
      expect(paid.filter(Boolean)).toHaveLength(1);
      const customer = aCustomer(id, payers[paid.indexOf(true)]!);
      const due = { at: START + MINUTE + 2_000, status: "success" };
      expect(await read()).toEqual({ ...checkout, customer, due, failure, updatedAt: START + MINUTE });
      expect(await types()).toEqual([]);
      const declined = failureOf("declined");
      await storage.finishCheckout(reference, "failed", declined);
      const { body } = (await events(id))[0]!;
      expect([(await read()).failure, JSON.parse(body).data.failure]).toEqual([declined, declined]);
    });

    test.each([
      ["success", "checkout.completed"],
      ["failed", "checkout.failed"],
      ["cancelled", "checkout.cancelled"],
    ] as const)("that is finished as %s gets the event %s, and is final", async (status, type) => {
      pass(MINUTE);
      expect(await storage.finishCheckout(reference, status)).toBe(true);
      const { due: _, ...rest } = checkout;
      const final = { ...rest, status, updatedAt: START + MINUTE };
      expect(await read()).toEqual(final);
      const [event] = await events(id);
      expect(event).toMatchObject({ createdAt: START + MINUTE, reference });
      expect(JSON.parse(event!.body)).toMatchObject({ event: type, data: { id: checkout.id, status } });
      pass(MINUTE);
      expect(await storage.finishCheckout(reference, "success")).toBe(false);
      expect(await storage.payCheckout(reference, PAYER, SOON)).toBe(false);
      expect(await storage.cancelCheckout(reference)).toBe(false);
      pass(60 * MINUTE);
      expect([await storage.settleDue(10), await read(), await types()]).toEqual([0, final, [type]]);
    });

    test("can be cancelled by its payer while it is unpaid; paid without an outcome it stays pending (D17)", async () => {
      const { due: _, ...rest } = checkout;
      expect(await storage.cancelCheckout(reference)).toBe(true);
      expect([await read(), await types()]).toEqual([{ ...rest, status: "cancelled" }, ["checkout.cancelled"]]);
      const { due: __, ...paid } = await current.checkout(id);
      expect(await storage.payCheckout(paid.reference, PAYER, undefined)).toBe(true);
      expect(await storage.cancelCheckout(paid.reference)).toBe(false);
      pass(1_000_000 * MINUTE);
      expect(await storage.settleDue(10)).toBe(0);
      expect(await storage.findCheckout(id, paid.reference)).toEqual({ ...paid, customer: aCustomer(id, PAYER) });
    });

    test("ends once, with one event, of several concurrent ends", async () => {
      pass(31 * MINUTE);
      const ended = await Promise.all([
        storage.finishCheckout(reference, "success"),
        storage.settleDue(10),
        storage.finishCheckout(reference, "failed"),
        storage.settleDue(10),
        storage.finishCheckout(reference, "cancelled"),
      ]);
      expect(ended.map(Number).reduce((sum, count) => sum + count)).toBe(1);
      const { status } = await read();
      expect(await types()).toEqual([`checkout.${status === "success" ? "completed" : status}`]);
    });
  });
}
