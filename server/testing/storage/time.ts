// What time does: clocks of merchants, resets, and the deletion of what is old.
import { expect, test } from "vitest";
import {
  ACTOR,
  ADA,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  KOFI,
  pendingOn,
  type Current,
} from "./fixtures.ts";
import { DAY, HOUR, LATEST, MINUTE, SECOND, START } from "../times.ts";
import type { DeliveryStatus } from "../../domain/deliveries.ts";

const YEAR = 365 * DAY;

/** A merchant's clock, which is moved ahead of real time. */
export function clockTests(current: Current): void {
  const { storage, now, pass, payout, delivery, claims, report } = current;
  const id = ADA;
  const time = async () => now() + (await storage.findMerchant(id))!.clockOffset;
  const move = (by: number) => storage.moveClock(id, { by }, ACTOR);

  test("concurrent moves add up, and never go further ahead of real time than a year", async () => {
    const tooFar = { code: "invalid_value" };
    await expect(move(YEAR + 1)).rejects.toMatchObject(tooFar);
    await expect(storage.moveClock(id, { to: START + YEAR + 1 }, ACTOR)).rejects.toMatchObject(tooFar);
    expect(await time()).toBe(START);
    const moved = await Promise.allSettled(Array.from({ length: 5 }, () => move(YEAR / 2)));
    expect(moved.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(await time()).toBe(START + YEAR);
    // A clock never goes back.
    for (const nowhere of [{ by: 0 }, { to: START }])
      expect(await storage.moveClock(id, nowhere, ACTOR)).toMatchObject({ merchant: { clockOffset: YEAR } });
  });

  test("a payout that is created during a move is dated and due consistently before or after it", async () => {
    const [, ...made] = await Promise.all([move(HOUR), ...Array.from({ length: 20 }, () => payout(id))]);
    for (const { createdAt, due } of made) {
      expect([START, START + HOUR]).toContain(createdAt);
      expect(due!.at).toBe(START + 2 * SECOND);
    }
    pass(2 * SECOND);
    expect(await storage.settleDue(100)).toBe(20);
  });

  test("retries follow the move; a lease does not", async () => {
    const [retried, claimed] = [await delivery(id), await delivery(id)];
    const first = (await claims()).find(({ id: each }) => each === retried.id);
    await report(first!, { status: "pending", step: 1, nextAttemptAt: START + HOUR });
    await move(HOUR);
    const again = { id: retried.id, dueAt: START + HOUR, merchant: { clockOffset: HOUR } };
    expect(await claims()).toMatchObject([again]);
    await expect(storage.requestReplay(id, claimed.id, ACTOR)).rejects.toMatchObject({ code: "delivery_in_progress" });
  });

  test("what was written while the server's clock was ahead does not wait after its correction", async () => {
    const setClock = async (at: number) => {
      current.clock().set(at);
      await storage.ping();
    };
    await setClock(START + YEAR);
    const { reference } = await payout(id);
    expect(await storage.takeRequest(id, 1)).toBe(true);
    for (const host of ["a.example", "b.example"]) await delivery(id, { webhookURL: `https://${host}/` });
    const [retried, delivered] = await claims();
    const sent = { at: now(), sentAt: now() };
    await report(retried!, { status: "pending", step: 1, nextAttemptAt: now() + HOUR }, sent);
    await report(delivered!, { status: "delivered", step: 1 });
    await storage.replayAll({ merchantId: id, filter: { status: "delivered" }, pace: 1 }, ACTOR);
    await storage.insertLink({ id: "link", hash: "00", role: "viewer", name: "ada", lifetimeMs: HOUR }, ACTOR);

    await setClock(START);
    pass(2 * SECOND);
    expect(await storage.settleDue(10)).toBe(1);
    const settled = (await storage.findDisbursement(id, reference))!;
    expect([settled.status, settled.updatedAt >= settled.createdAt]).toEqual(["success", true]);
    expect([await storage.takeRequest(id, 1), await storage.listTeam()]).toEqual([true, []]);
    expect((await claims()).map((each) => each.id).toSorted()).toEqual([retried!.id, delivered!.id].toSorted());
  });

  test("tells whether a record, a retry or a claimed delivery is due by a time", async () => {
    const hasDue = (until: number) => storage.hasDue(id, until);
    await payout(id);
    expect([await hasDue(START + 1_999), await hasDue(START + 2_000)]).toEqual([false, true]);
    expect(await storage.hasDue(KOFI, LATEST)).toBe(false);
    pass(2_000);
    await storage.settleDue(10);
    expect(await hasDue(LATEST)).toBe(false);
    await delivery(id);
    expect(await hasDue(START + 2_000)).toBe(true);
    const [claimed] = await claims();
    expect(await hasDue(START + 2_000)).toBe(true);
    await report(claimed!, { status: "delivered", step: 1 });
    expect(await hasDue(LATEST)).toBe(false);
  });
}

export function resetTests(current: Current): void {
  const { storage, pass, payout, delivery, claims, report, settleAll } = current;
  const id = ADA;
  /** Makes a record of each kind, and moves the clock by an hour. */
  async function makeBusy(of: string) {
    const again = () => storage.insertDisbursement(aDisbursement(of, { merchantsReference: "same" }));
    await again();
    const { reference } = await current.checkout(of);
    await delivery(of);
    await storage.countRefusal(of, "refused");
    await storage.moveClock(of, { by: HOUR }, ACTOR);
    const seen = async () => ({
      clockOffset: (await storage.findMerchant(of))!.clockOffset,
      isFound: (await storage.findPublicCheckout(reference)) !== undefined,
      isDue: await storage.hasDue(of, LATEST),
      events: (await current.events(of)).length,
      deliveries: (await storage.listDeliveries({ merchantId: of, limit: 10 })).items.length,
    });
    return { again, seen };
  }
  const NOTHING = { clockOffset: 0, isFound: false, isDue: false, events: 0, deliveries: 0 };
  const ALL = { clockOffset: HOUR, isFound: true, isDue: true, events: 1, deliveries: 1 };

  test("deletes one merchant's records and resets its clock; keys and secret stay", async () => {
    const { hash } = await current.key(id);
    const { merchant } = (await storage.findMerchantByKey(hash))!;
    const [reset, kept] = [await makeBusy(id), await makeBusy(KOFI)];
    expect([await reset.seen(), await kept.seen()]).toEqual([ALL, ALL]);
    const { current: secret } = await storage.rotateSecret(id, "whsec_new", ACTOR);
    const [claimed] = await claims({ merchantId: id });
    await storage.reset(id, ACTOR);
    expect([await reset.seen(), await kept.seen()]).toEqual([NOTHING, ALL]);
    expect((await storage.findMerchantByKey(hash))?.merchant).toEqual(merchant);
    // The result of an attempt in progress is dropped.
    expect(await report(claimed!, { status: "delivered", step: 1 })).toBe(false);
    expect([await storage.countRefusal(id, "refused"), await storage.countRefusal(KOFI, "refused")]).toEqual([1, 2]);
    // The clock that goes back does not revive an expired secret.
    expect(await storage.readSecrets(id)).toEqual({ current: secret, previous: [] });
    const dated = { createdAt: START, due: { at: START + 2_000 } };
    expect(await reset.again()).toMatchObject({ inserted: true, record: dated });
    expect(await kept.again()).toMatchObject({ inserted: false });
    // What was pending before the reset never ends.
    pass(HOUR);
    await settleAll();
    expect([await reset.seen(), await claims({ merchantId: id })]).toEqual([{ ...NOTHING, events: 1 }, []]);
  });

  test("deletes all of very many rows, and of each concurrent create all or nothing", async () => {
    await concurrently(1_200, () => payout(id));
    await concurrently(20, () => delivery(id));
    const made = Array.from({ length: 20 }, () => storage.insertDisbursement(aFinalDisbursement(id)));
    await Promise.all([storage.reset(id, ACTOR), ...made]);
    const { items } = await storage.listDisbursements({ merchantId: id, limit: 50 });
    expect(await current.events(id)).toHaveLength(items.length);
    const statement = (await storage.listStatement({ merchantId: id, limit: 50 })).items;
    const reserved = new Set(statement.map((entry) => entry.reference));
    expect(reserved).toEqual(new Set(items.map(({ reference }) => reference)));
    expect(await storage.findMerchant(id)).not.toHaveProperty("isResetting");
  });
}

/** Deletion of old events. */
export function pruneTests(current: Current): void {
  const { storage, now, pass, claims, report } = current;
  const merchantId = ADA;

  const attempted = (status: DeliveryStatus, of = merchantId) => current.attempted(of, status);
  async function pruneAll() {
    const query = { merchantId, before: now() - 90 * DAY, limit: 2 };
    for (let after: number | undefined = 0; after !== undefined;)
      after = await storage.pruneEvents({ ...query, after });
  }
  const idsOf = async (of = merchantId) => (await current.events(of)).map(({ id }) => id).toReversed();

  test("deletes old events that were delivered or have no address, and keeps their records", async () => {
    const delivered = await attempted("delivered");
    const kept = [];
    for (const status of ["pending", "ended", "exhausted"] as const) kept.push(await attempted(status));
    await current.finalPayout(merchantId);
    kept.push(await current.delivery(merchantId, { webhookURL: "https://due.example/hook" }));

    pass(100 * DAY);
    expect(await idsOf()).toHaveLength(6);
    for (let times = 0; times < 2; times += 1) await pruneAll();
    expect(await idsOf()).toEqual(kept.map(({ id }) => id));

    expect(await storage.findDelivery(merchantId, delivered.id)).toBeUndefined();
    const record = (await storage.findDisbursement(merchantId, delivered.reference))!;
    const { status, merchantsReference } = record;
    expect([status, await current.payout(merchantId, { merchantsReference })]).toEqual(["success", record]);
    for (const { id } of kept.slice(0, 3))
      expect((await storage.findDelivery(merchantId, id))!.attempts).toHaveLength(1);
    expect(await claims({ merchantId })).toMatchObject([{ id: kept[3]!.id }]);
  });

  test("keeps what is recent or is being replayed, and what is of other merchants, also after a move of the clock", async () => {
    const again = await attempted("delivered");
    await attempted("delivered", KOFI);
    await storage.moveClock(merchantId, { by: 200 * DAY }, ACTOR);
    const left = async () => (await pruneAll(), idsOf());
    expect(await left()).toEqual([again.id]);
    pass(100 * DAY);
    await storage.requestReplay(merchantId, again.id, ACTOR);
    const [claimed] = await claims({ leaseMs: DAY });
    expect(await left()).toEqual([again.id]);
    await report(claimed!, { status: "delivered", step: 1 }, { at: now(), sentAt: now() });
    pass(89 * DAY);
    expect(await left()).toEqual([again.id]);
    pass(2 * DAY);
    expect([await left(), (await idsOf(KOFI)).length]).toEqual([[], 1]);
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

  /** The number of the merchant's records whose phone number is erased. */
  async function countErased() {
    const query = { merchantId, limit: 100 };
    const [payouts, checkouts] = [await storage.listDisbursements(query), await storage.listCheckouts(query)];
    return [...payouts.items, ...checkouts.items].filter(({ customer }) => customer?.phoneNumber === ERASED).length;
  }
  /** Takes all steps, and returns the number of erased records. */
  async function eraseAll() {
    const before = await countErased();
    while (await storage.erasePhones({ merchantId, before: now() - 30 * DAY, limit: 2 }));
    return (await countErased()) - before;
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
    const delivery = await storage.findDelivery(merchantId, claimed!.id);
    // The amount and the reference have the same digits as the number, and stay.
    const { event, data } = JSON.parse(claimed!.body) as { event: string; data: { customer: object } };
    const customer = { ...data.customer, name: "Customer 0000", phoneNumber: ERASED };
    expect(delivery!.body).toBe(JSON.stringify({ event, data: { ...data, customer } }));
    expect(delivery!.attempts).toEqual([expect.not.objectContaining({ responseBody: expect.anything() })]);

    const { items } = await storage.listDisbursements({ merchantId, phoneNumber: PHONE, limit: 10 });
    expect(items).toMatchObject([{ reference: recent.reference, customer: { id: paid.customer.id } }]);
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
      await storage.reset(merchantId, ACTOR);
    }
  });

  test("erases records created after the correction of a clock that was a year ahead", async () => {
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
    const handover = await storage.findHandover(reference);
    const erased = `no wallet 00${ERASED}, 00000000000; amount 20250101`;
    expect(handover!.exchanges).toMatchObject([{ detail: erased }]);
    expect(JSON.stringify([record, handover])).not.toContain(PHONE);
  });
}
