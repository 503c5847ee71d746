import { beforeEach, expect, test } from "vitest";
import type { PaymentKind } from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Current } from "./current.ts";
import { ACTOR, DAY, LATEST, MINUTE, START } from "./fixtures.ts";
import { replayAll } from "./replays.ts";

const TODAY = Math.floor(START / DAY_MS);
const LARGEST = 2 ** 53 - 1;
const ALL = { from: TODAY - 7, to: TODAY + 7 };
/** What became of no webhooks. */
const NONE = { waiting: 0, again: 0, delivered: 0, failed: 0 };
const FAILED = { status: "failed" } as const;
const hook = (host: string) => ({ webhookURL: `https://${host}/` });
const endsAfter = (afterMs: number) => ({ due: { afterMs, status: "success" } as const });

/** What pages of the dashboard count. */
export function figureTests(current: Current): void {
  const { storage, pass, payout, finalPayout, attempted, claims, report, settleAll } = current;
  let [merchantId, other] = ["", ""];
  beforeEach(async () => {
    [merchantId, other] = [(await current.merchant()).id, (await current.merchant()).id];
  });

  /** Payments and amounts by day, status and currency. */
  async function figures(query: { merchantId?: string; kind?: PaymentKind; from?: number; to?: number } = {}) {
    const found = await storage.readFigures({ merchantId, kind: "disbursement", ...ALL, ...query });
    const sums = Map.groupBy(found, ({ day, status, currency }) => `${day - TODAY} ${status} ${currency}`);
    return Object.fromEntries(
      [...sums].map(([name, of]) => [
        name,
        [of.reduce((sum, { payments }) => sum + payments, 0), of.reduce((sum, { amount }) => sum + amount, 0n)],
      ]),
    );
  }
  const ONE = [1, 10_000n];
  async function replay(id: string) {
    await storage.startReplay({ id, merchantId, filter: { status: "failed" }, pace: 100 }, ACTOR);
    await replayAll(current);
  }
  const countOf = (id: string) => storage.countReplayed(merchantId, id);

  test("counts payments by the day of their creation, and keeps the answer for a minute", async () => {
    expect(await figures()).toEqual({});
    for (let made = 0; made < 3; made += 1) await finalPayout(merchantId, { amount: LARGEST });
    await finalPayout(merchantId, FAILED);
    await finalPayout(merchantId, { currency: "GHS" });
    await payout(merchantId, endsAfter(2 * DAY));
    await finalPayout(other);
    await current.checkout(merchantId, { due: { afterMs: 2 * DAY, status: "cancelled" } });
    expect(await figures()).toEqual({});
    pass(MINUTE);
    const final = { "0 failed XOF": ONE, "0 success GHS": ONE };
    const pending = { ...final, "0 success XOF": [3, 3n * BigInt(LARGEST)], "0 pending XOF": ONE };
    expect(await figures()).toEqual(pending);
    // A payment of hours that are over becomes final.
    pass(DAY);
    expect(await figures()).toEqual(pending);
    pass(DAY);
    await settleAll();
    await finalPayout(merchantId);
    const settled = { "0 success XOF": [4, 3n * BigInt(LARGEST) + 10_000n], "2 success XOF": ONE };
    expect(await figures()).toEqual({ ...final, ...settled });
    expect(await figures({ kind: "checkout" })).toEqual({ "0 cancelled XOF": [1, 2_500_000n] });
    expect(await figures({ to: TODAY - 1 })).toEqual({});
    expect(await figures({ merchantId: other, from: TODAY, to: TODAY })).toEqual({ "0 success XOF": ONE });
  });

  test("counts payments right that are made after a clock went back", async () => {
    await finalPayout(merchantId);
    current.clock().set(START + DAY);
    expect(await figures()).toEqual({ "0 success XOF": ONE });
    current.clock().set(START);
    await finalPayout(merchantId);
    pass(DAY);
    expect(await figures()).toEqual({ "0 success XOF": [2, 20_000n] });
  });

  test("counts a payment once that settles during the count", async () => {
    await payout(merchantId, endsAfter(0));
    const counting = figures();
    await settleAll();
    expect(Object.values(await counting)).toEqual([ONE]);
  });

  test("a reset takes the merchant's figures away at once", async () => {
    await finalPayout(merchantId);
    expect(await figures()).toEqual({ "0 success XOF": ONE });
    await storage.reset(merchantId);
    expect(await figures()).toEqual({});
  });

  test("reads how long payments took until they were final", async () => {
    await payout(merchantId, endsAfter(MINUTE));
    pass(MINUTE);
    await settleAll();
    await finalPayout(merchantId, FAILED);
    expect(await storage.readTimes({ ...ALL, merchantId })).toEqual([0, MINUTE]);
    expect(await storage.readTimes({ ...ALL, merchantId, to: TODAY - 1 })).toEqual([]);
  });

  test("lists receivers whose webhooks wait for a retry", async () => {
    for (let made = 0; made < 2; made += 1) await attempted(merchantId, "pending");
    await attempted(merchantId, "delivered", hook("good.example"));
    await attempted(other, "pending", hook("b.example"));
    const list = (query: { merchantId?: string; limit?: number }) =>
      storage.listFailingReceivers({ limit: 10, ...query });
    const own = { merchantId, host: "merchant.example", waiting: 2, nextAttemptAt: LATEST, since: START };
    expect(await list({ merchantId })).toEqual([own]);
    expect(await list({})).toEqual([own, { ...own, merchantId: other, host: "b.example", waiting: 1 }]);
    expect(await list({ limit: 1 })).toEqual([own]);
    await storage.reset(merchantId);
    expect(await list({ merchantId })).toEqual([]);
  });

  test("lists receivers whose webhooks have failed for good lately", async () => {
    for (const id of [merchantId, other]) await attempted(id, "exhausted", hook("old.example"));
    pass(DAY);
    for (const status of ["exhausted", "ended", "pending"] as const) await attempted(merchantId, status);
    await attempted(merchantId, "ended", hook("gone.example"));
    await attempted(merchantId, "delivered", hook("good.example"));
    const after = START + DAY;
    const own = { merchantId, host: "merchant.example", failed: 2, since: after };
    const found = [own, { ...own, host: "gone.example", failed: 1 }];
    const byHost = async (query: { merchantId?: string; after: number }) =>
      (await storage.listGivenUp({ limit: 10, ...query })).toSorted((a, b) => b.host.localeCompare(a.host));
    for (const query of [{ merchantId, after }, { after }]) expect(await byHost(query)).toEqual(found);
    expect(await byHost({ merchantId: other, after })).toEqual([]);
    expect(await byHost({ merchantId: other, after: START })).toHaveLength(1);
    await storage.moveClock(merchantId, { by: DAY }, 365 * DAY);
    expect(await byHost({ merchantId, after })).toEqual([]);
    expect(await byHost({ merchantId, after: START })).toEqual(found);
    await storage.reset(merchantId);
    expect(await byHost({ merchantId, after: START })).toEqual([]);
  });

  test("lists the merchants whose payouts are pending for too long, the oldest first", async () => {
    await storage.setMerchantLimits(merchantId, { approvalFrom: { XOF: 1 } }, ACTOR);
    await payout(merchantId, endsAfter(DAY));
    await storage.setMerchantLimits(merchantId, undefined, ACTOR);
    await payout(other, endsAfter(DAY));
    pass(MINUTE);
    for (const id of [merchantId, other]) await payout(id, endsAfter(DAY));
    await finalPayout((await current.merchant()).id);
    const before = START + MINUTE;
    const [one, two] = [
      { merchantId, payouts: 1, since: before },
      { merchantId: other, payouts: 2, since: START },
    ];
    expect(await storage.listLate({ before, limit: 10 })).toEqual([two, one]);
    expect(await storage.listLate({ before, limit: 1 })).toEqual([two]);
    expect(await storage.listLate({ merchantId, before, limit: 10 })).toEqual([one]);
    expect(await storage.listLate({ before: START, limit: 10 })).toEqual([{ ...two, payouts: 1 }]);
  });

  test("counts why a merchant's payments failed", async () => {
    const unknown = { code: "wallet_not_found", message: "No wallet." };
    await finalPayout(merchantId, { ...FAILED, failure: { ...unknown, message: "Yesterday." } as never });
    pass(DAY);
    for (const failure of [unknown, { ...unknown, message: "Kein Konto." }, { code: "other", message: "?" }])
      await finalPayout(merchantId, { ...FAILED, failure: failure as never });
    for (const changes of [FAILED, {}]) await finalPayout(merchantId, changes);
    const query = { merchantId, kind: "disbursement", from: TODAY + 1, to: TODAY + 1 } as const;
    const counted = new Set([
      { code: "other", payments: 1 },
      { code: undefined, payments: 1 },
      { code: "wallet_not_found", payments: 2 },
    ]);
    expect(new Set(await storage.countFailures(query))).toEqual(counted);
    const yesterday = [{ code: "wallet_not_found", payments: 1 }];
    expect(await storage.countFailures({ ...query, from: TODAY, to: TODAY })).toEqual(yesterday);
    expect(await storage.countFailures({ ...query, kind: "checkout" })).toEqual([]);
  });

  test("reads the attempts of a merchant's newest webhooks", async () => {
    await attempted(merchantId, "delivered");
    const { id } = await attempted(merchantId, "exhausted", hook("b.example"));
    await storage.requestReplay(merchantId, id, ACTOR);
    await report((await claims())[0]!, { status: "delivered", step: 1 }, { latencyMs: 7, httpStatus: 204 });
    const failed = { host: "b.example", at: START, latencyMs: 1, isDelivered: false, result: "no response" };
    const delivered = { ...failed, latencyMs: 7, isDelivered: true, result: "status 204" };
    expect(await storage.readReceiverAttempts(merchantId, 1)).toEqual([delivered, failed]);
    const older = { ...failed, host: "merchant.example" };
    expect(await storage.readReceiverAttempts(merchantId, 10)).toEqual([delivered, failed, older]);
  });

  test("counts what became of a replay's webhooks, until another replay", async () => {
    for (let made = 0; made < 4; made += 1) await attempted(merchantId, "exhausted");
    await replay("first");
    expect(await countOf("first")).toEqual({ ...NONE, waiting: 4 });
    const results = ["delivered", "delivered", "exhausted", "ended"] as const;
    for (const [index, claimed] of (await claims()).entries())
      await report(claimed, { status: results[index]!, step: 1 });
    expect(await countOf("first")).toEqual({ ...NONE, delivered: 2, failed: 2 });
    await replay("second");
    expect(await countOf("first")).toEqual({ ...NONE, delivered: 2 });
    expect(await countOf("second")).toEqual({ ...NONE, waiting: 2 });
    await report((await claims())[0]!, { status: "pending", step: 1, nextAttemptAt: LATEST });
    expect(await countOf("second")).toEqual({ ...NONE, waiting: 2, again: 1 });
  });
}
