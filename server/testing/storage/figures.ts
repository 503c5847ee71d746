import { beforeEach, expect, test } from "vitest";
import type { PaymentKind } from "../../domain/records.ts";
import { DAY_MS } from "../../domain/time.ts";
import { DAY, LATEST, MINUTE, START, type Current } from "./fixtures.ts";

const TODAY = Math.floor(START / DAY_MS);
const LARGEST = 2 ** 53 - 1;
const ALL = { from: TODAY - 7, to: TODAY + 7 };
const FAILED = { status: "failed" } as const;
const hook = (host: string) => ({ webhookURL: `https://${host}/` });
const endsAfter = (afterMs: number) => ({ due: { afterMs, status: "success" } as const });

/** What pages of the dashboard count. */
export function figureTests(current: Current): void {
  const { storage, pass, payout, finalPayout, attempted, settleAll } = current;
  let [merchantId, other] = ["", ""];
  beforeEach(async () => {
    // An answer about a merchant is kept for a minute, also over the end of a test.
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

  test("has what pages of the dashboard say about payments and receivers", async () => {
    for (let made = 0; made < 2; made += 1) await payout(other, endsAfter(DAY));
    await attempted(other, "pending", hook("b.example"));
    pass(1);
    const at = START + 1;
    for (const afterMs of [DAY, MINUTE]) await payout(merchantId, endsAfter(afterMs));
    for (const [status, host] of [
      ["pending", "a.example"],
      ["pending", "a.example"],
      ["exhausted", "gone.example"],
      ["ended", "gone.example"],
      ["delivered", "good.example"],
    ] as const)
      await attempted(merchantId, status, hook(host));
    pass(MINUTE);
    await settleAll();

    const waiting = { merchantId, host: "a.example", count: 2, since: at };
    const others = { ...waiting, merchantId: other, host: "b.example", count: 1, since: START };
    const gone = { merchantId, host: "gone.example", count: 2, since: at };
    const [late, later] = [
      { merchantId: other, count: 2, since: START },
      { merchantId, count: 1, since: at },
    ];
    const limit = 10;
    for (const [found, expected] of [
      [await storage.listFailingReceivers({ merchantId, limit }), [waiting]],
      [await storage.listFailingReceivers({ limit }), [waiting, others]],
      [await storage.listFailingReceivers({ limit: 1 }), [waiting]],
      [await storage.listGivenUp({ after: at, limit }), [gone]],
      [await storage.listGivenUp({ merchantId, after: at, limit }), [gone]],
      [await storage.listGivenUp({ merchantId, after: at + 1, limit }), []],
      [await storage.listLate({ before: at, limit }), [late, later]],
      [await storage.listLate({ before: at, limit: 1 }), [late]],
      [await storage.listLate({ before: START, limit }), [late]],
      [await storage.listLate({ merchantId, before: at, limit }), [later]],
    ])
      expect(found).toEqual(expected);
    // What was long ago in the merchant's time is not listed, and what a reset has deleted neither.
    await storage.moveClock(merchantId, { by: DAY }, LATEST);
    expect(await storage.listGivenUp({ merchantId, after: at, limit })).toEqual([]);
    await storage.reset(merchantId);
    expect(await storage.listGivenUp({ merchantId, after: START - DAY, limit })).toEqual([]);
    expect(await storage.listFailingReceivers({ merchantId, limit })).toEqual([]);
  });
}
