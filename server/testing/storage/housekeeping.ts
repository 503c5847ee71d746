import { expect, test } from "vitest";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import type { PruneQuery } from "../../domain/storage.ts";
import { ACTOR, ADA, DAY, KOFI, LATEST, MINUTE, pendingOn, START, type Current } from "./fixtures.ts";

/** Deletion of old events. */
export function pruneTests(current: Current): void {
  const { storage, now, pass, claims, report } = current;
  const merchantId = ADA;

  const attempted = (status: DeliveryStatus, of = merchantId) => current.attempted(of, status);
  /** Runs all steps for a merchant and adds up their results. */
  async function pruneAll(changes: Partial<PruneQuery> = {}) {
    const sum = { events: 0, attempts: 0, bytes: 0 };
    for (let after: number | undefined = 0; after !== undefined;) {
      const query = { merchantId, before: now() - 90 * DAY, after, limit: 2, dryRun: false, ...changes };
      const pruned = await storage.pruneEvents(query);
      for (const name of ["events", "attempts", "bytes"] as const) sum[name] += pruned[name];
      after = pruned.next;
    }
    return sum;
  }
  const idsOf = async (of = merchantId) => (await current.events(of)).map(({ id }) => id).toReversed();

  test("deletes old events that were delivered or have no address, and keeps their records", async () => {
    const delivered = await attempted("delivered");
    const kept = [];
    for (const status of ["pending", "ended", "exhausted"] as const) kept.push(await attempted(status));
    const silent = await current.finalPayout(merchantId);
    kept.push(await current.delivery(merchantId, { webhookURL: "https://due.example/hook" }));
    const gone = (await current.events(merchantId)).filter(({ reference }) =>
      [delivered.reference, silent.reference].includes(reference),
    );
    const bytes = gone.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);

    pass(100 * DAY);
    const expected = { events: 2, attempts: 1, bytes };
    expect(await pruneAll({ dryRun: true })).toEqual(expected);
    expect(await idsOf()).toHaveLength(6);
    expect([await pruneAll(), await pruneAll()]).toEqual([expected, { events: 0, attempts: 0, bytes: 0 }]);
    expect(await idsOf()).toEqual(kept.map(({ id }) => id));

    expect(await storage.findDelivery(merchantId, delivered.id)).toBeUndefined();
    const record = (await storage.findDisbursement(merchantId, delivered.reference))!;
    const { status, merchantsReference } = record;
    expect([status, await current.payout(merchantId, { merchantsReference })]).toEqual(["success", record]);
    for (const { id } of kept.slice(0, 3))
      expect((await storage.findDelivery(merchantId, id))!.attempts).toHaveLength(1);
    expect(await claims({ merchantId })).toMatchObject([{ event: { id: kept[3]!.id } }]);
  });

  test("keeps what is recent or is being replayed, and what is of other merchants, also after a move of the clock", async () => {
    const again = await attempted("delivered");
    await attempted("delivered", KOFI);
    await storage.moveClock(merchantId, { by: 200 * DAY }, LATEST);
    expect(await pruneAll()).toMatchObject({ events: 0 });
    pass(100 * DAY);
    await storage.requestReplay(merchantId, again.id, ACTOR);
    const [claimed] = await claims({ leaseMs: DAY });
    expect(await pruneAll()).toMatchObject({ events: 0 });
    await report(claimed!, { status: "delivered", step: 1 }, { at: now(), sentAt: now() });
    pass(89 * DAY);
    expect(await pruneAll()).toMatchObject({ events: 0 });
    pass(2 * DAY);
    expect(await pruneAll()).toMatchObject({ events: 1, attempts: 2 });
    expect([await idsOf(), (await idsOf(KOFI)).length]).toEqual([[], 1]);
  });
}

const PHONE = "2250775398815";
const ERASED = "2250000000000";
const to = { customer: { phoneNumber: PHONE } };
const endsAfter = (days: number) => ({ ...to, due: { afterMs: days * DAY, status: "success" } as const });

/** Erasure of phone numbers (D102). */
export function erasureTests(current: Current): void {
  const { storage, now, pass, payout, finalPayout, settleAll } = current;
  const merchantId = ADA;

  /** Takes all steps, and returns the number of erased records. */
  async function eraseAll() {
    let sum = 0;
    for (let isDone = false; !isDone;) {
      const step = await storage.erasePhones({ merchantId, before: now() - 30 * DAY, limit: 2 });
      sum += step.erased;
      ({ isDone } = step);
    }
    return sum;
  }
  const phoneOf = async ({ merchantId: id, reference }: { merchantId: string; reference: string }) =>
    (await storage.findDisbursement(id, reference))!.customer.phoneNumber;

  test("erases the numbers of old final records and of their webhooks, and nothing else", async () => {
    const digits = { amount: Number(PHONE), merchantsReference: PHONE };
    const paid = await finalPayout(merchantId, { ...to, webhookURL: "https://merchant.example/hook", ...digits });
    const foreign = await finalPayout(KOFI, to);
    const [claimed] = await current.claims({ merchantId });
    const response = { httpStatus: 200, responseBody: `thanks, 0${PHONE.slice(3)}` };
    await current.report(claimed!, { status: "delivered", step: 1 }, response);
    const checkout = await current.checkout(merchantId);
    await storage.payCheckout(checkout.reference, PHONE, { afterMs: 0, status: "success" });
    await current.checkout(merchantId, { due: { afterMs: 0, status: "cancelled" } });
    await settleAll();
    pass(31 * DAY);
    const recent = await finalPayout(merchantId, to);

    expect(await eraseAll()).toBe(2);
    const erased = { customer: { id: paid.customer.id, phoneNumber: ERASED } };
    expect(await storage.findDisbursement(merchantId, paid.reference)).toEqual({ ...paid, ...erased });
    const end = { status: "success", ...erased };
    expect(await storage.findCheckout(merchantId, checkout.reference)).toMatchObject(end);
    for (const kept of [recent, foreign]) expect(await phoneOf(kept)).toBe(PHONE);
    const delivery = await storage.findDelivery(merchantId, claimed!.event.id);
    // The amount and the reference have the same digits as the number, and stay.
    const { event, data } = JSON.parse(claimed!.event.body) as { event: string; data: { customer: object } };
    const customer = { ...data.customer, name: "Customer 0000", phoneNumber: ERASED };
    expect(delivery!.body).toBe(JSON.stringify({ event, data: { ...data, customer } }));
    expect(delivery!.attempts).toEqual([expect.not.objectContaining({ responseBody: expect.anything() })]);

    const { items } = await storage.listDisbursements({ merchantId, phoneNumber: PHONE, limit: 10 });
    expect(items.map(({ reference, customer: { id } }) => [reference, id])).toEqual([
      [recent.reference, paid.customer.id],
    ]);
    expect((await payout(merchantId, { merchantsReference: PHONE })).reference).toBe(paid.reference);
    expect(await eraseAll()).toBe(0);
  });

  test("erases a number once the record has been final for long enough, however long it was pending, also after a reset", async () => {
    for (let round = 0; round < 2; round += 1) {
      const [slow, never] = [await payout(merchantId, endsAfter(40)), await payout(merchantId, endsAfter(900))];
      const many = [];
      for (let count = 0; count < 7; count += 1) many.push(await finalPayout(merchantId, to));
      pass(31 * DAY);
      expect(await eraseAll()).toBe(7);
      for (const each of many) expect(await phoneOf(each)).toBe(ERASED);
      pass(10 * DAY);
      await settleAll();
      pass(20 * DAY);
      expect([await eraseAll(), await phoneOf(slow)]).toEqual([0, PHONE]);
      pass(11 * DAY);
      expect([await eraseAll(), await phoneOf(slow), await phoneOf(never)]).toEqual([1, ERASED, PHONE]);
      await storage.reset(merchantId);
    }
  });

  test("erases what was created after a clock that was ahead by a year has been corrected", async () => {
    await finalPayout(merchantId, to);
    for (const [at, erased] of [
      [START + 365 * DAY, 1],
      [START, 0],
    ] as const) {
      current.clock().set(at);
      await storage.ping();
      expect(await eraseAll()).toBe(erased);
    }
    await finalPayout(merchantId, to);
    pass(31 * DAY);
    expect(await eraseAll()).toBe(1);
  });

  test("erases what a rail said about the number", async () => {
    const { reference } = (await storage.insertDisbursement(pendingOn("mobile", merchantId, to))).record;
    const [claim] = await storage.claimHandovers([{ merchantId, host: "mobile", count: 1 }], MINUTE);
    const detail = `no wallet 00${PHONE}, 0${PHONE.slice(3)}; amount 20250101`;
    const exchange = { at: now(), action: "pay", latencyMs: 12, result: "failed", detail } as const;
    const failure = { code: "recipient_unreachable", message: `${PHONE} has no wallet` };
    const answer = { status: "failed", failure } as never;
    await storage.recordHandover(claim!, { exchanges: [exchange], askAgainAfterMs: MINUTE, answer });
    pass(31 * DAY);
    expect(await eraseAll()).toBe(1);
    const record = await storage.findDisbursement(merchantId, reference);
    const exchanges = await storage.listExchanges(reference);
    expect(exchanges).toMatchObject([{ detail: `no wallet 00${ERASED}, 00000000000; amount 20250101` }]);
    const handover = await storage.findHandover(reference);
    expect(JSON.stringify([record, exchanges, handover])).not.toContain(PHONE);
  });
}
