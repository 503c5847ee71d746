import { expect, test } from "vitest";
import * as fc from "fast-check";
import type { Actor } from "../../domain/audit.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Draft } from "../../domain/records.ts";
import type { StatementEntry } from "../../domain/ledger.ts";
import type { Current } from "./current.ts";
import {
  aCheckout,
  ACTOR,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  LATEST,
  MINUTE,
  nextId,
} from "./fixtures.ts";

const adjustment = (amount: number, changes = {}) => ({
  id: nextId(),
  currency: "XOF",
  amount,
  reason: "Paid in",
  ...changes,
});

/** The entries of a whole statement whose balance differs from the balance before them plus their amount. */
export function runningBalances(statement: readonly StatementEntry[]): StatementEntry[] {
  const balances: Record<string, number> = {};
  return statement.toReversed().filter(({ currency, amount, balance }) => {
    const before = balances[currency] ?? 0;
    balances[currency] = balance;
    return balance !== before + amount;
  });
}

export function ledgerTests(storage: Current): void {
  const balancesOf = async (merchantId: string) =>
    (await storage().listBalances(merchantId)).map(({ currency, available, reserved }) => ({
      currency,
      available,
      reserved,
    }));
  const covered = (merchant: Merchant, changes: Partial<Draft<Disbursement>> = {}) =>
    storage().insertDisbursement(aDisbursement(merchant.id, { mustBeCovered: true, ...changes }));
  const topUp = ({ id }: Merchant, amount: number, changes = {}) =>
    storage().adjustBalance(id, adjustment(amount, changes), ACTOR);

  test("reserves amount and fee; success captures both, and failure gives both back", async () => {
    const merchant = await addMerchant(storage());
    for (const status of ["success", "failed"] as const) {
      const draft = { amount: 1_000, fee: 10, due: { afterMs: 2_000, status } };
      await storage().insertDisbursement(aDisbursement(merchant.id, draft));
    }
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: -2_020, reserved: 2_020 }]);
    storage.clock().advance(2_000);
    await storage().settleDue(10);
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: -1_010, reserved: 0 }]);
    await storage().insertDisbursement(aFinalDisbursement(merchant.id, { amount: 5, fee: 1, status: "failed" }));
    await storage().insertDisbursement(aFinalDisbursement(merchant.id, { amount: 5, fee: 1, status: "success" }));
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: -1_016, reserved: 0 }]);
  });

  test("keeps sums exact beyond the largest numbers of JavaScript and SQLite", async () => {
    const merchant = await addMerchant(storage());
    const largest = { amount: Number.MAX_SAFE_INTEGER, fee: 90_071_992_547_410 };
    await concurrently(1_100, () => storage().insertDisbursement(aFinalDisbursement(merchant.id, largest)));
    const sum = Number(1_100n * (BigInt(largest.amount) + BigInt(largest.fee)));
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: -sum, reserved: 0 }]);
    const { items } = await storage().listStatement({ merchantId: merchant.id, limit: 2 });
    expect(items.map(({ balance }) => balance)).toContain(-sum);
  });

  test("an operator's top-up and withdrawal are in the audit trail, and a withdrawal never exceeds the balance", async () => {
    const merchant = await addMerchant(storage());
    expect(await topUp(merchant, 500, { reason: "Bank transfer" })).toBe(true);
    expect(await topUp(merchant, -501)).toBe(false);
    expect(await topUp(merchant, -1, { currency: "NGN" })).toBe(false);
    expect(await topUp(merchant, -200, { reason: "Too much" })).toBe(true);
    expect(await storage().listBalances(merchant.id)).toEqual(await storage().listBalances());
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: 300, reserved: 0 }]);
    const { items } = await storage().listAudit({ merchantId: merchant.id, limit: 2 });
    const reference = expect.any(String);
    expect(items).toMatchObject([
      { action: "balance.withdraw", details: { reference, currency: "XOF", amount: "-200", reason: "Too much" } },
      { action: "balance.top-up", actor: ACTOR, details: { amount: "500", reason: "Bank transfer" } },
    ]);
  });

  test("refuses a payout that the balance does not cover; nothing is recorded, and its reference stays free", async () => {
    const merchant = await addMerchant(storage());
    await topUp(merchant, 1_009);
    await topUp(merchant, 9_999, { currency: "NGN" });
    const payout = { amount: 1_000, fee: 10, merchantsReference: "p1", rail: "bank" };
    const refused = await covered(merchant, payout);
    expect(refused).toMatchObject({ inserted: false, refusal: { code: "insufficient_funds" } });
    expect(await storage().findDisbursementByMerchantsReference(merchant.id, "p1")).toBeUndefined();
    expect(await storage().findHandover(refused.record.reference)).toBeUndefined();
    expect(await covered(merchant, { ...payout, amount: 999 })).toMatchObject({ inserted: true });
    // A duplicate needs no balance.
    expect(await covered(merchant, payout)).toMatchObject({ inserted: false, record: { amount: 999 } });
    expect((await balancesOf(merchant.id))[1]).toEqual({ currency: "XOF", available: 0, reserved: 1_009 });
    const failed = aFinalDisbursement(merchant.id, { status: "failed", mustBeCovered: true });
    expect(await storage().insertDisbursement(failed)).toMatchObject({ refusal: { code: "insufficient_funds" } });
    expect((await storage().listEvents({ merchantId: merchant.id, limit: 10 })).items).toEqual([]);
  });

  test("refuses all of several requests with one reference that nothing covers", async () => {
    const merchant = await addMerchant(storage());
    const results = await concurrently(3, () => covered(merchant, { merchantsReference: "same" }));
    expect(results.map(({ refusal }) => refusal?.code)).toEqual(Array(3).fill("insufficient_funds"));
  });

  test("accepts exactly as many concurrent payouts as the balance covers", async () => {
    const merchant = await addMerchant(storage());
    await topUp(merchant, 100 * 1_010);
    const results = await concurrently(200, () => covered(merchant, { amount: 1_000, fee: 10 }));
    expect(results.filter(({ inserted }) => inserted)).toHaveLength(100);
    expect(results.filter(({ refusal }) => refusal)).toHaveLength(100);
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: 0, reserved: 101_000 }]);
  });

  test("reads a statement of a period in pages, newest first, in every currency", async () => {
    const { id } = await addMerchant(storage());
    for (const currency of ["XOF", "NGN", "XOF"]) {
      for (const amount of [30, -10]) await storage().adjustBalance(id, adjustment(amount, { currency }), ACTOR);
      await storage().insertDisbursement(aDisbursement(id, { currency, amount: 4, fee: 1 }));
      storage.clock().advance(MINUTE);
      await storage().settleDue(10);
    }
    const all = (await storage().listStatement({ merchantId: id, limit: 100 })).items;
    expect(all.map(({ kind }) => kind).slice(0, 4)).toEqual(["capture", "reserve", "withdrawal", "top-up"]);
    expect(runningBalances(all)).toEqual([]);
    const times = all.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const paged: StatementEntry[] = [];
    const period = { from: times.at(-1)! + 1, to: times[0]! };
    for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page += 1) {
      const query = { merchantId: id, ...period, limit: 2, cursor };
      const { items, cursor: next } = await storage().listStatement(query);
      paged.push(...items);
      cursor = next;
    }
    expect(paged).toEqual(all.filter(({ createdAt: at }) => at >= period.from && at < period.to));
    await expect(storage().listStatement({ merchantId: id, limit: 2, cursor: "x" })).rejects.toThrow("cursor");
  });

  test("sets a balance of a sandbox, which it then enforces for one currency until a reset", async () => {
    const merchant = await addMerchant(storage());
    const set = (available: number, enforced: boolean) =>
      storage().setBalance(merchant.id, nextId(), { currency: "XOF", available, enforced }, ACTOR);
    const pays = async (changes = {}) =>
      (await covered(merchant, { amount: 1_000, fee: 10, mustBeCovered: false, ...changes })).inserted;
    await set(0, true);
    expect(await pays()).toBe(false);
    expect(await pays({ currency: "NGN" })).toBe(true);
    await set(1_010, true);
    expect(await concurrently(3, () => pays())).toEqual([true, false, false]);
    await set(5, false);
    expect(await pays()).toBe(true);
    expect((await storage().listBalances(merchant.id))[1]).toMatchObject({ available: -1_005, reserved: 2_020 });
    await set(0, true);
    await storage().reset(merchant.id);
    expect(await pays()).toBe(true);
  });

  test("an adjustment that is sent twice at once is booked once", async () => {
    const merchant = await addMerchant(storage());
    const change = adjustment(500);
    const results = await concurrently(5, () => storage().adjustBalance(merchant.id, change, ACTOR));
    expect(results).toEqual(Array<boolean>(5).fill(true));
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: 500, reserved: 0 }]);
  });

  test("books that agree with the payments need no correction", async () => {
    const merchant = await addMerchant(storage());
    await covered(merchant, { amount: 1_000, fee: 10, mustBeCovered: false });
    expect(await storage().correctBooks("Upgrade", ACTOR)).toBe(0);
  });

  test("a proposed change is booked once, by somebody else, and only if the balance covers it", async () => {
    const merchant = await addMerchant(storage());
    const [add, take] = [adjustment(500), adjustment(-400)];
    for (const change of [add, add, take]) await storage().proposeAdjustment(merchant.id, change, ACTOR);
    expect(await storage().listProposals()).toEqual(
      [add, take].map((change) => ({ merchantId: merchant.id, by: ACTOR, at: storage.clock().now(), ...change })),
    );
    expect(await balancesOf(merchant.id)).toEqual([]);
    const decide = ({ id }: typeof add, actor: Actor = "dashboard Grace", approves = true) =>
      storage().decideAdjustment(merchant.id, id, actor, approves);
    for (const herself of ["dashboard Ada", "dashboard ada@bank.example"] as const)
      expect(await decide(add, herself)).toBe("own");
    expect(await decide(take)).toBe("not-covered");
    const results = await concurrently(5, () => decide(add));
    expect([...results, await decide(add, ACTOR, false)]).toEqual([...Array<string>(5).fill("booked"), "unknown"]);
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: 500, reserved: 0 }]);
    expect(await decide(take, ACTOR, false)).toBe("rejected");
    expect(await storage().listProposals()).toEqual([]);
    expect(await storage().proposeAdjustment(merchant.id, add, ACTOR)).toBe("booked");
    expect(await storage().listProposals()).toEqual([]);
    expect(await balancesOf(merchant.id)).toEqual([{ currency: "XOF", available: 500, reserved: 0 }]);
  });

  test("an id belongs to one change, proposed or booked, which the refusal of another names", async () => {
    const { id } = await addMerchant(storage());
    const [proposed, booked] = [adjustment(500), adjustment(300)];
    await storage().proposeAdjustment(id, proposed, ACTOR);
    await storage().adjustBalance(id, booked, ACTOR);
    for (const [known, recorded] of [
      [proposed, "proposal, 500 XOF"],
      [booked, "top-up, 300 XOF"],
    ] as const) {
      const message = `The id ${known.id} belongs to another change: ${recorded}. Give this change another id.`;
      for (const change of [{ amount: -known.amount }, { amount: 501 }, { currency: "GHS" }]) {
        const other = { ...known, ...change };
        await expect(storage().proposeAdjustment(id, other, ACTOR)).rejects.toThrow(message);
        await expect(storage().adjustBalance(id, other, ACTOR)).rejects.toThrow(message);
      }
    }
    expect(await storage().listProposals()).toMatchObject([proposed]);
    expect(await balancesOf(id)).toEqual([{ currency: "XOF", available: 300, reserved: 0 }]);
    expect(await storage().decideAdjustment(id, proposed.id, "dashboard Grace", true)).toBe("booked");
  });

  test("any sequence of creates, ends, top-ups, approvals, erasures, moves of the clock and resets keeps every sum", async () => {
    const amount = fc.integer({ min: 1, max: 50 });
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom("top-up", "withdraw", "payout", "enforced", "checkout"), amount }),
      fc.record({ do: fc.constantFrom("settle", "move", "fail", "erase"), amount }),
      fc.record({ do: fc.constantFrom("ask", "approve", "reject"), amount }),
      { weight: 1, arbitrary: fc.record({ do: fc.constant("reset"), amount }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const merchant = await addMerchant(storage());
        const asking = await addKey(storage(), merchant.id);
        await storage().setKeyLimits(asking.id, { approvalFrom: { XOF: 1 } }, ACTOR);
        // What the books should contain, computed only from the results of the calls.
        let [funds, pending] = [0, [] as { cost: number; ends: "success" | "failed" }[]];
        let waiting: typeof pending = [];
        const held = () => [...pending, ...waiting].reduce((sum, { cost }) => sum + cost, 0);
        const erased = async (isDone = false): Promise<void> => {
          const query = { merchantId: merchant.id, before: storage.clock().now() + 1, limit: 3 };
          return isDone ? undefined : erased((await storage().erasePhones(query)).isDone);
        };
        const settle = async () => {
          while ((await storage().settleDue(100, merchant.id)) > 0);
          funds -= pending.filter(({ ends }) => ends === "success").reduce((sum, { cost }) => sum + cost, 0);
          pending = [];
        };
        let fails = false;
        const seen: StatementEntry[] = [];
        for (const { do: what, amount: given } of steps) {
          const ends = fails ? ("failed" as const) : ("success" as const);
          if (what === "fail") fails = !fails;
          if (what === "top-up" && (await topUp(merchant, given))) funds += given;
          if (what === "withdraw" && (await topUp(merchant, -given))) funds -= given;
          if (what === "payout" || what === "enforced") {
            const draft = { amount: given, fee: 1, due: { afterMs: 2_000, status: ends } };
            const { inserted } = await covered(merchant, { ...draft, mustBeCovered: what === "enforced" });
            expect(inserted).toBe(what === "payout" || funds - held() >= given + 1);
            if (inserted) pending.push({ cost: given + 1, ends });
          }
          if (what === "ask") {
            const draft = { amount: given, fee: 1, keyId: asking.id, due: { afterMs: 2_000, status: ends } };
            await storage().insertDisbursement(aDisbursement(merchant.id, draft));
            waiting.push({ cost: given + 1, ends });
          }
          if (what === "approve" || what === "reject") {
            const [oldest] = await storage().listWaiting({ merchantId: merchant.id, limit: 1 });
            expect(oldest === undefined).toBe(waiting.length === 0);
            const decided = waiting.shift();
            const rejection = what === "reject" ? "not today" : undefined;
            if (oldest) await storage().decideApproval(merchant.id, oldest.reference, "dashboard Grace", rejection);
            if (decided && what === "approve") pending.push(decided);
          }
          if (what === "erase") await erased();
          if (what === "checkout") {
            const draft = aCheckout(merchant.id, { amount: given, fee: 2 });
            await storage().insertCheckout(draft);
            await storage().finishCheckout(draft.reference, ends);
            if (ends === "success") funds += given - 2;
          }
          if (what === "settle") {
            storage.clock().advance(2_000);
            await settle();
          }
          if (what === "move") {
            await storage().moveClock(merchant.id, { by: 2_000 }, LATEST);
            await settle();
          }
          if (what === "reset") {
            await storage().reset(merchant.id);
            [funds, pending, waiting] = [0, [], []];
          }
          const [balance = { available: 0, reserved: 0 }] = await balancesOf(merchant.id);
          expect(balance).toMatchObject({ available: funds - held(), reserved: held() });
          const { items } = await storage().listStatement({ merchantId: merchant.id, limit: 100 });
          expect(runningBalances(items)).toEqual([]);
          expect(items[0]?.balance ?? 0).toBe(balance.available);
          seen.unshift(...(what === "reset" ? [] : items.slice(0, items.length - seen.length)));
          if (what === "reset") seen.length = 0;
          // The entries that were read before have not changed.
          expect(items).toEqual(seen);
        }
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
}
