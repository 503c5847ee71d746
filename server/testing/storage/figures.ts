import { expect, test } from "vitest";
import type { PaymentKind } from "../../domain/figures.ts";
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
  START,
} from "./fixtures.ts";

const TODAY = Math.floor(START / DAY_MS);
const LARGEST = 2 ** 53 - 1;

export function figureTests(storage: Current): void {
  const all = { from: TODAY - 7, to: TODAY + 7 };
  /** Payments and amounts by day, status and currency. */
  async function figures(query: { merchantId: string; kind?: PaymentKind; from?: number; to?: number }) {
    const found = await storage().readFigures({ ...all, kind: "disbursement", ...query });
    const sums = Map.groupBy(found, ({ day, status, currency }) => `${day - TODAY} ${status} ${currency}`);
    return Object.fromEntries(
      [...sums].map(([name, of]) => [
        name,
        [of.reduce((sum, { payments }) => sum + payments, 0), of.reduce((sum, { amount }) => sum + amount, 0n)],
      ]),
    );
  }

  test("counts payments by the day of their creation, and keeps the answer for a minute", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const other = await addMerchant(storage());
    const insert = (changes: object) => storage().insertDisbursement(aFinalDisbursement(merchantId, changes));
    expect(await figures({ merchantId })).toEqual({});
    for (let made = 0; made < 3; made += 1) await insert({ amount: LARGEST });
    await insert({ status: "failed" });
    await insert({ currency: "GHS" });
    await storage().insertDisbursement(aDisbursement(merchantId, { due: { afterMs: 2 * DAY, status: "success" } }));
    await storage().insertDisbursement(aFinalDisbursement(other.id));
    await storage().insertCheckout(aCheckout(merchantId, { due: { afterMs: 2 * DAY, status: "cancelled" } }));
    expect(await figures({ merchantId })).toEqual({});
    storage.clock().advance(MINUTE);
    const final = { "0 failed XOF": [1, 10_000n], "0 success GHS": [1, 10_000n] };
    const pending = { ...final, "0 success XOF": [3, 3n * BigInt(LARGEST)], "0 pending XOF": [1, 10_000n] };
    expect(await figures({ merchantId })).toEqual(pending);
    // A payment of hours that are over becomes final.
    storage.clock().advance(DAY);
    expect(await figures({ merchantId })).toEqual(pending);
    storage.clock().advance(DAY);
    await storage().settleDue(10);
    await insert({});
    expect(await figures({ merchantId })).toEqual({
      ...final,
      "0 success XOF": [4, 3n * BigInt(LARGEST) + 10_000n],
      "2 success XOF": [1, 10_000n],
    });
    expect(await figures({ merchantId, kind: "checkout" })).toEqual({ "0 cancelled XOF": [1, 2_500_000n] });
    expect(await figures({ merchantId, to: TODAY - 1 })).toEqual({});
    expect(await figures({ merchantId: other.id, from: TODAY, to: TODAY })).toEqual({ "0 success XOF": [1, 10_000n] });
  });

  test("counts payments right that are made after a clock went back", async () => {
    const { id: merchantId } = await addMerchant(storage());
    const insert = () => storage().insertDisbursement(aFinalDisbursement(merchantId));
    await insert();
    storage.clock().set(START + DAY);
    expect(await figures({ merchantId })).toEqual({ "0 success XOF": [1, 10_000n] });
    storage.clock().set(START);
    await insert();
    storage.clock().advance(DAY);
    expect(await figures({ merchantId })).toEqual({ "0 success XOF": [2, 20_000n] });
  });

  test("counts a payment once that settles during the count", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchantId, { due: { afterMs: 0, status: "success" } }));
    const counting = figures({ merchantId });
    await storage().settleDue(10);
    expect(Object.values(await counting)).toEqual([[1, 10_000n]]);
  });

  test("a reset takes the merchant's figures away at once", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().insertDisbursement(aFinalDisbursement(merchantId));
    expect(await figures({ merchantId })).toEqual({ "0 success XOF": [1, 10_000n] });
    await storage().reset(merchantId);
    expect(await figures({ merchantId })).toEqual({});
  });

  test("reads how long payments took until they were final", async () => {
    const { id: merchantId } = await addMerchant(storage());
    await storage().insertDisbursement(aDisbursement(merchantId, { due: { afterMs: MINUTE, status: "success" } }));
    storage.clock().advance(MINUTE);
    await storage().settleDue(10);
    await storage().insertDisbursement(aFinalDisbursement(merchantId, { status: "failed" }));
    const query = { ...all, merchantId };
    expect(await storage().readTimes(query)).toEqual([0, MINUTE]);
    expect(await storage().readTimes({ ...query, to: TODAY - 1 })).toEqual([]);
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
