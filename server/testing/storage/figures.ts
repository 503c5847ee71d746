import { expect, test } from "vitest";
import { DAY_MS } from "../../domain/time.ts";
import type { Current } from "./current.ts";
import {
  ACTOR,
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  attempted,
  claimAll,
  concurrently,
  DAY,
  LATEST,
  MINUTE,
  replayAll,
  SECOND,
  START,
} from "./fixtures.ts";

const TODAY = Math.floor(START / DAY_MS);
const LARGEST = 2 ** 53 - 1;

export function figureTests(storage: Current): void {
  const all = { from: TODAY - 7, to: TODAY + 7 };
  async function countAll(limit = 500): Promise<number> {
    let counted = 0;
    for (let rounds = 0; rounds < 100; rounds += 1) {
      const count = await storage().countFigures(limit);
      if (count === 0) return counted;
      counted += count;
    }
    throw new Error("Counting does not end.");
  }
  const sorted = async (query: { merchantId?: string }) =>
    (await storage().readFigures({ ...all, ...query })).toSorted((a, b) =>
      JSON.stringify([a.day, a.kind, a.status]) < JSON.stringify([b.day, b.kind, b.status]) ? -1 : 1,
    );

  test("counts each final payment once, by the day of its creation, also in small steps", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const other = await addMerchant(storage());
    const amount = LARGEST;
    for (let made = 0; made < 3; made += 1)
      await storage().insertDisbursement(aFinalDisbursement(merchantId, { amount }));
    await storage().insertDisbursement(aFinalDisbursement(merchantId, { status: "failed" }));
    await storage().insertDisbursement(aDisbursement(merchantId, { due: { afterMs: MINUTE, status: "success" } }));
    await storage().insertDisbursement(aFinalDisbursement(other.id));
    const checkout = aCheckout(merchantId, { due: { afterMs: 2 * DAY, status: "cancelled" } });
    await storage().insertCheckout(checkout);
    expect(await countAll(2)).toBe(5);
    expect(await countAll()).toBe(0);
    storage.clock().advance(MINUTE);
    await storage().settleDue(10);
    storage.clock().advance(2 * DAY);
    await storage().settleDue(10);
    expect(await countAll()).toBe(2);

    const of = { day: TODAY, kind: "disbursement", currency: "XOF", rail: "" } as const;
    const own = [
      { ...of, kind: "checkout", status: "cancelled", payments: 1, amount: 2_500_000n },
      { ...of, status: "failed", within: SECOND, payments: 1, amount: 10_000n },
      { ...of, status: "success", within: SECOND, payments: 3, amount: 3n * BigInt(LARGEST) },
      { ...of, status: "success", within: MINUTE, payments: 1, amount: 10_000n },
    ];
    expect(await sorted({ merchantId })).toEqual(own);
    const everybody = [...own.slice(0, 2), { ...own[2], payments: 4, amount: 3n * BigInt(LARGEST) + 10_000n }, own[3]];
    expect(await sorted({})).toEqual(everybody);
    expect(await storage().readFigures({ merchantId, from: TODAY - 7, to: TODAY - 1 })).toEqual([]);
  });

  test("concurrent counting counts nothing twice", async () => {
    const merchants = await concurrently(3, () => addMerchant(storage()));
    for (const { id } of merchants) await concurrently(20, () => storage().insertDisbursement(aFinalDisbursement(id)));
    for (let round = 0; round < 10; round += 1) await concurrently(4, () => storage().countFigures(7));
    expect((await sorted({})).map(({ payments }) => payments)).toEqual([60]);
  });

  test("a reset takes the merchant's figures away, also from those of all", async () => {
    const [reset, kept] = [await addMerchant(storage()), await addMerchant(storage())];
    for (const { id } of [reset, kept]) await storage().insertDisbursement(aFinalDisbursement(id));
    await countAll();
    await storage().reset(reset.id);
    expect(await sorted({ merchantId: reset.id })).toEqual([]);
    await countAll();
    await storage().insertDisbursement(aFinalDisbursement(reset.id, { status: "failed" }));
    await countAll();
    const counts = async (query: { merchantId?: string }) =>
      (await sorted(query)).filter(({ payments }) => payments > 0).map(({ status, payments }) => [status, payments]);
    expect(await counts({ merchantId: reset.id })).toEqual([["failed", 1]]);
    expect(await counts({})).toEqual([
      ["failed", 1],
      ["success", 1],
    ]);
  });

  test("counts pending payments, and since when", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const due = { afterMs: DAY, status: "success" } as const;
    await storage().insertDisbursement(aDisbursement(merchantId, { due }));
    storage.clock().advance(MINUTE);
    await storage().insertDisbursement(aDisbursement(merchantId, { due }));
    await storage().insertDisbursement(aFinalDisbursement(merchantId));
    const pending = {
      day: TODAY,
      currency: "XOF",
      kind: "disbursement",
      payments: 2,
      amount: 20_000n,
      oldestAt: START,
    };
    expect(await storage().readPending({ ...all, merchantId })).toEqual([pending]);
    expect(await storage().readPending(all)).toEqual([pending]);
    expect(await storage().readPending({ ...all, to: TODAY - 1 })).toEqual([]);
  });

  test("lists receivers whose webhooks wait for a retry", async () => {
    const [{ id: merchantId }, other] = [await addMerchant(storage()), await addMerchant(storage())];
    await attempted(storage(), merchantId, "pending");
    await attempted(storage(), merchantId, "pending");
    await attempted(storage(), merchantId, "delivered", { webhookURL: "https://good.example/" });
    await attempted(storage(), other.id, "pending", { webhookURL: "https://b.example/" });
    const own = { merchantId, host: "merchant.example", waiting: 2, nextAttemptAt: LATEST, since: START };
    expect(await storage().listFailingReceivers({ merchantId, limit: 10 })).toEqual([own]);
    const everybody = [own, { ...own, merchantId: other.id, host: "b.example", waiting: 1 }];
    expect(await storage().listFailingReceivers({ limit: 10 })).toEqual(everybody);
    expect(await storage().listFailingReceivers({ limit: 1 })).toEqual([own]);
    await storage().reset(merchantId);
    expect(await storage().listFailingReceivers({ merchantId, limit: 10 })).toEqual([]);
  });

  const ahead = (merchantId: string, ms: number) => storage().moveClock(merchantId, { by: ms }, 365 * DAY);

  test("lists receivers whose webhooks have failed for good lately", async () => {
    const [{ id: merchantId }, other] = [await addMerchant(storage()), await addMerchant(storage())];
    await attempted(storage(), merchantId, "exhausted", { webhookURL: "https://old.example/" });
    await attempted(storage(), other.id, "exhausted", { webhookURL: "https://old.example/" });
    storage.clock().advance(DAY);
    await attempted(storage(), merchantId, "exhausted");
    await attempted(storage(), merchantId, "ended");
    await attempted(storage(), merchantId, "ended", { webhookURL: "https://gone.example/" });
    await attempted(storage(), merchantId, "pending");
    await attempted(storage(), merchantId, "delivered", { webhookURL: "https://good.example/" });
    const after = START + DAY;
    const own = { merchantId, host: "merchant.example", failed: 2, since: after };
    const found = [own, { ...own, host: "gone.example", failed: 1 }];
    const byHost = async (query: { merchantId?: string; after: number }) =>
      (await storage().listGivenUp({ limit: 10, ...query })).toSorted((a, b) => b.host.localeCompare(a.host));
    expect(await byHost({ merchantId, after })).toEqual(found);
    expect(await byHost({ after })).toEqual(found);
    expect(await byHost({ merchantId: other.id, after })).toEqual([]);
    expect(await byHost({ merchantId: other.id, after: START })).toHaveLength(1);
    await ahead(merchantId, DAY);
    expect(await byHost({ merchantId, after })).toEqual([]);
    expect(await byHost({ merchantId, after: START })).toEqual(found);
    await storage().reset(merchantId);
    expect(await byHost({ merchantId, after: START })).toEqual([]);
  });

  test("lists the merchants whose payouts are pending for too long, the oldest first", async () => {
    const [one, two, three] = (await concurrently(3, () => addMerchant(storage()))).map(({ id }) => id) as [
      string,
      string,
      string,
    ];
    const due = { afterMs: DAY, status: "success" } as const;
    await storage().setMerchantLimits(one, { approvalFrom: { XOF: 1 } }, ACTOR);
    await storage().insertDisbursement(aDisbursement(one, { due }));
    await storage().setMerchantLimits(one, undefined, ACTOR);
    await storage().insertDisbursement(aDisbursement(two, { due }));
    storage.clock().advance(MINUTE);
    for (const merchantId of [one, two]) await storage().insertDisbursement(aDisbursement(merchantId, { due }));
    await storage().insertDisbursement(aFinalDisbursement(three));
    const before = START + MINUTE;
    const ofOne = { merchantId: one, payouts: 1, since: before };
    const ofTwo = { merchantId: two, payouts: 2, since: START };
    expect(await storage().listLate({ before, limit: 10 })).toEqual([ofTwo, ofOne]);
    expect(await storage().listLate({ before, limit: 1 })).toEqual([ofTwo]);
    expect(await storage().listLate({ merchantId: one, before, limit: 10 })).toEqual([ofOne]);
    expect(await storage().listLate({ before: START, limit: 10 })).toEqual([{ ...ofTwo, payouts: 1 }]);
  });

  test("counts why a merchant's payments failed", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const insert = (changes: object) => storage().insertDisbursement(aFinalDisbursement(merchantId, changes));
    const unknown = { code: "wallet_not_found", message: "No wallet." };
    await insert({ status: "failed", failure: { ...unknown, message: "Yesterday." } });
    storage.clock().advance(DAY);
    for (const failure of [unknown, { ...unknown, message: "Kein Konto." }, { code: "other", message: "?" }])
      await insert({ status: "failed", failure });
    await insert({ status: "failed" });
    await insert({ status: "success" });
    const query = { merchantId, kind: "disbursement", from: TODAY + 1, to: TODAY + 1 } as const;
    const counted = new Set([
      { code: "other", payments: 1 },
      { code: undefined, payments: 1 },
      { code: "wallet_not_found", payments: 2 },
    ]);
    expect(new Set(await storage().countFailures(query))).toEqual(counted);
    expect(await storage().countFailures({ ...query, from: TODAY, to: TODAY })).toEqual([
      { code: "wallet_not_found", payments: 1 },
    ]);
    expect(await storage().countFailures({ ...query, kind: "checkout" })).toEqual([]);
  });

  test("finds the day on which most was paid out, by merchant and currency, in the merchant's time", async () => {
    const [{ id: merchantId }, other] = [await addMerchant(storage()), await addMerchant(storage())];
    const pay = (amount: number, changes = {}) =>
      storage().insertDisbursement(aFinalDisbursement(merchantId, { amount, ...changes }));
    await pay(LARGEST);
    for (let day = 0; day < 8; day += 1) {
      storage.clock().advance(DAY);
      for (const amount of [LARGEST, 10 + day]) await pay(amount);
    }
    await pay(5, { currency: "GHS", status: "failed" });
    await storage().insertDisbursement(aFinalDisbursement(other.id, { amount: 3 }));
    await countAll();
    const own = { merchantId, currency: "XOF", amount: BigInt(LARGEST) + 16n };
    expect(await storage().readBusiestDays({ days: 7 })).toEqual([own]);
    storage.clock().advance(DAY);
    const found = (await storage().readBusiestDays({ days: 7 })).toSorted((a, b) => (a.amount < b.amount ? -1 : 1));
    expect(found).toEqual([
      { ...own, merchantId: other.id, amount: 3n },
      { ...own, amount: BigInt(LARGEST) + 17n },
    ]);
    await ahead(merchantId, 7 * DAY);
    expect(await storage().readBusiestDays({ merchantId, days: 7 })).toEqual([]);
    expect(await storage().readBusiestDays({ merchantId, days: 8 })).toEqual([found[1]]);
  });

  test("reads the attempts of a merchant's newest webhooks", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await attempted(storage(), merchantId, "delivered");
    const { id } = await attempted(storage(), merchantId, "exhausted", { webhookURL: "https://b.example/" });
    await storage().requestReplay(merchantId, id, ACTOR);
    const [claimed] = await claimAll(storage(), { merchantId });
    const attempt = { at: START, sentAt: START, latencyMs: 7, httpStatus: 204 };
    await storage().recordAttempt(claimed!, attempt, { status: "delivered", step: 1 });
    const failed = { host: "b.example", at: START, latencyMs: 1, isDelivered: false, result: "no response" };
    const delivered = { ...failed, latencyMs: 7, isDelivered: true, result: "status 204" };
    expect(await storage().readReceiverAttempts(merchantId, 1)).toEqual([delivered, failed]);
    const older = { ...failed, host: "merchant.example" };
    expect(await storage().readReceiverAttempts(merchantId, 10)).toEqual([delivered, failed, older]);
  });

  test("counts what became of a replay's webhooks, until another replay", async () => {
    const { id: merchantId } = await addMerchant(storage());
    for (let made = 0; made < 4; made += 1) await attempted(storage(), merchantId, "exhausted");
    const start = (id: string) =>
      storage().startReplay({ id, merchantId, filter: { status: "failed" }, pace: 100 }, ACTOR);
    await start("first");
    await replayAll(storage(), storage.clock());
    expect(await storage().countReplayed(merchantId, "first")).toEqual({
      waiting: 4,
      again: 0,
      delivered: 0,
      failed: 0,
    });
    const results = ["delivered", "delivered", "exhausted", "ended"] as const;
    for (const [index, claimed] of (await claimAll(storage(), { merchantId })).entries())
      await storage().recordAttempt(
        claimed,
        { at: START, sentAt: START, latencyMs: 1 },
        { status: results[index]!, step: 1 },
      );
    expect(await storage().countReplayed(merchantId, "first")).toEqual({
      waiting: 0,
      again: 0,
      delivered: 2,
      failed: 2,
    });
    await start("second");
    await replayAll(storage(), storage.clock());
    expect(await storage().countReplayed(merchantId, "first")).toEqual({
      waiting: 0,
      again: 0,
      delivered: 2,
      failed: 0,
    });
    expect(await storage().countReplayed(merchantId, "second")).toEqual({
      waiting: 2,
      again: 0,
      delivered: 0,
      failed: 0,
    });
    const [first] = await claimAll(storage(), { merchantId });
    const retry = { status: "pending", step: 1, nextAttemptAt: LATEST } as const;
    await storage().recordAttempt(first!, { at: START, sentAt: START, latencyMs: 1 }, retry);
    expect(await storage().countReplayed(merchantId, "second")).toEqual({
      waiting: 2,
      again: 1,
      delivered: 0,
      failed: 0,
    });
  });
}
