import { expect, test } from "vitest";
import * as fc from "fast-check";
import type { Actor } from "../../domain/audit.ts";
import type { Disbursement, Draft, PastPayment } from "../../domain/records.ts";
import type { StatementEntry } from "../../domain/ledger.ts";
import { aCheckout, ACTOR, ADA, aDisbursement, aFinalDisbursement, concurrently } from "./fixtures.ts";
import { DAY, MINUTE } from "../times.ts";
import { nextId, pagesOf, type Current } from "./fixtures.ts";

const adjustment = (amount: number, currency = "XOF") => ({ id: nextId(), currency, amount, reason: "Paid in" });
type End = "success" | "failed";
/** A payout and its fee. */
const PAYOUT = { amount: 1_000, fee: 10 };

/** The entries of a whole statement whose balance differs from the balance before them plus their amount. */
export function runningBalances(statement: readonly StatementEntry[]): StatementEntry[] {
  const balances: Record<string, number> = {};
  return statement.toReversed().filter(({ currency, amount, balance }) => {
    const before = balances[currency] ?? 0;
    balances[currency] = balance;
    return balance !== before + amount;
  });
}

const timesOf = (entries: readonly StatementEntry[]) => entries.map(({ createdAt }) => createdAt);

export function ledgerTests(current: Current): void {
  const { storage, pass, finalPayout, settleAll } = current;
  const id = ADA;
  /** What is available and reserved in francs. */
  const balance = async (merchantId = id) => {
    const found = (await storage.listBalances(merchantId)).find(({ currency }) => currency === "XOF");
    return [found?.available ?? 0, found?.reserved ?? 0];
  };
  const pay = (changes: Partial<Draft<Disbursement>> = {}, merchantId = id) =>
    storage.insertDisbursement(aDisbursement(merchantId, { ...PAYOUT, ...changes }));
  const pays = async (changes = {}) => (await pay(changes)).inserted;
  const topUp = async (amount: number, currency = "XOF", merchantId = id) =>
    (await storage.adjustBalance(merchantId, adjustment(amount, currency), ACTOR)) === "booked";
  const statement = async (merchantId = id) => (await storage.listStatement({ merchantId, limit: 100 })).items;

  test("keeps sums exact beyond the largest numbers of JavaScript and SQLite", async () => {
    const largest = { amount: Number.MAX_SAFE_INTEGER, fee: 90_071_992_547_410 };
    await concurrently(1_100, () => finalPayout(id, largest));
    const sum = Number(1_100n * (BigInt(largest.amount) + BigInt(largest.fee)));
    expect(await balance()).toEqual([-sum, 0]);
    expect(await storage.listBalances(id)).toEqual(await storage.listBalances());
    const { items } = await storage.listStatement({ merchantId: id, limit: 2 });
    expect(items.map((entry) => entry.balance)).toContain(-sum);
  });

  test("accepts exactly as many concurrent payouts as the balance covers", async () => {
    await topUp(101 * 1_010 - 1);
    await topUp(9_999, "NGN");
    const results = await concurrently(200, () => pay({ mustBeCovered: true }));
    expect(results.filter(({ inserted }) => inserted)).toHaveLength(100);
    expect(results.filter(({ refusal }) => refusal)).toHaveLength(100);
    expect(await balance()).toEqual([1_009, 101_000]);
  });

  test("creates and ends at once, also by two processes, leave books that agree with the payouts, as the statement says", async () => {
    await concurrently(100, async (index) => {
      await pay({ due: { afterMs: 0, status: index % 2 === 0 ? "success" : "failed" } });
      await storage.settleDue(3);
    });
    await settleAll();
    const { items } = await storage.listDisbursements({ merchantId: id, status: "success", limit: 100 });
    expect([items.length, await balance()]).toEqual([50, [-50 * 1_010, 0]]);
    const read = async (period = {}) =>
      (await pagesOf((of) => storage.listStatement({ merchantId: id, limit: 70, ...period, ...of }))).flat();
    const entries = await read();
    expect(runningBalances(entries)).toEqual([]);
    const references = Map.groupBy(entries, ({ reference }) => reference);
    expect([...references.values()].map(({ length }) => length)).toEqual(Array<number>(100).fill(2));
    pass(MINUTE);
    const from = current.now();
    for (const amount of [30, -10]) {
      await topUp(amount, "NGN");
      pass(1);
    }
    const later = (await read()).slice(0, 2);
    const [withdrawn, added] = [{ kind: "withdrawal", balance: 20 } as const, { kind: "top-up", balance: 30 } as const];
    expect(later).toMatchObject([withdrawn, added]);
    expect([await read({ from }), await read({ to: from })]).toEqual([later, entries]);
    await expect(storage.listStatement({ merchantId: id, limit: 2, cursor: "x" })).rejects.toThrow("cursor");
  });

  /** A record of a past day, with the payer's or the recipient's number. */
  function daysBefore(days: number, record: object): PastPayment {
    const createdAt = current.now() - days * DAY;
    const times = { createdAt, updatedAt: createdAt + MINUTE };
    return { ...record, ...times, due: undefined, phoneNumber: "2257038102473" } as unknown as PastPayment;
  }
  test("books records of the past at their times, before later entries, or nothing of them (D112)", async () => {
    const past = (days: number, status: Disbursement["status"], changes = {}) =>
      daysBefore(days, aFinalDisbursement(id, { ...PAYOUT, status, ...changes }));
    const load = (...records: PastPayment[]) => storage.loadPayments(id, records, ACTOR);
    const order = daysBefore(4, aCheckout(id, { ...PAYOUT, status: "success" }));
    await topUp(5_000);
    await pay();
    const paid = past(3, "success");
    await load(paid, past(2, "failed"), order);
    await load(past(5, "pending"), past(1, "success", { currency: "NGN" }));
    await settleAll();
    const entries = await statement();
    expect(runningBalances(entries)).toEqual([]);
    expect(timesOf(entries)).toEqual(timesOf(entries).toSorted((a, b) => b - a));
    const ofPaid = entries.filter(({ reference }) => reference === paid.reference);
    expect(timesOf(ofPaid)).toEqual([paid.updatedAt, paid.createdAt]);
    expect(await balance()).toEqual([5_000 - 3 * 1_010 + 990, 2_020]);
    const details = { existing: { kind: "checkout", reference: order.reference } };
    const again = load(past(1, "success"), { ...order, reference: "CHK-other" });
    await expect(again).rejects.toMatchObject({ code: "duplicate_reference", details });
    expect([await statement(), await balance()]).toEqual([entries, [5_000 - 3 * 1_010 + 990, 2_020]]);
  });

  test("sets a balance of a sandbox, which it then enforces for one currency until a reset", async () => {
    const set = (available: number, enforced: boolean) =>
      storage.setBalance(id, nextId(), { currency: "XOF", available, enforced }, ACTOR);
    await set(1_010, true);
    expect((await concurrently(3, () => pays())).toSorted()).toEqual([false, false, true]);
    expect(await pays({ currency: "NGN" })).toBe(true);
    await set(5, false);
    expect([await pays(), await balance()]).toEqual([true, [-1_005, 2_020]]);
    await set(0, true);
    await storage.reset(id, ACTOR);
    expect(await pays()).toBe(true);
  });

  test("a change is booked once; if it was proposed, by somebody else, and only if the balance covers it", async () => {
    const [add, take, more] = [adjustment(500), adjustment(-400), adjustment(30)];
    for (const change of [add, add, take]) await storage.adjustBalance(id, change, ACTOR, true);
    const proposed = [add, take].map((change) => ({ merchantId: id, by: ACTOR, at: current.now(), ...change }));
    expect(await storage.listProposals()).toEqual(proposed);
    expect(await balance()).toEqual([0, 0]);
    const decide = (change: typeof add, actor: Actor = "dashboard Grace", approves = true) =>
      storage.decideAdjustment(id, change.id, actor, approves);
    for (const herself of ["dashboard Ada", "dashboard ada@bank.example"] as const)
      expect(await decide(add, herself)).toBe("own");
    expect(await decide(take)).toBe("not-covered");
    const results = await concurrently(5, () => decide(add));
    expect([...results, await decide(add, ACTOR, false)]).toEqual([...Array<string>(5).fill("booked"), "unknown"]);
    expect([await balance(), await decide(take, ACTOR, false)]).toEqual([[500, 0], "rejected"]);
    expect(await storage.adjustBalance(id, add, ACTOR, true)).toBe("booked");
    await concurrently(5, () => storage.adjustBalance(id, more, ACTOR));
    expect([await storage.listProposals(), await balance()]).toEqual([[], [530, 0]]);
  });

  test("an id belongs to one change, proposed or booked, which the refusal of another names", async () => {
    for (const [isProposed, recorded] of [
      [true, "proposal, 500 XOF"],
      [false, "top-up, 500 XOF"],
    ] as const) {
      const known = adjustment(500);
      await storage.adjustBalance(id, known, ACTOR, isProposed);
      const message = `The id ${known.id} belongs to another change: ${recorded}. Give this change another id.`;
      for (const change of [{ amount: -500 }, { amount: 501 }, { currency: "GHS" }])
        for (const proposes of [true, false]) {
          const refused = storage.adjustBalance(id, { ...known, ...change }, ACTOR, proposes);
          await expect(refused).rejects.toThrow(message);
        }
    }
    expect([(await storage.listProposals()).length, await balance()]).toEqual([1, [500, 0]]);
  });

  test("any sequence of creates, ends, top-ups, approvals, erasures, moves of the clock and resets keeps every sum", async () => {
    const amount = fc.integer({ min: 1, max: 50 });
    const kinds = [
      ["top-up", "withdraw", "payout", "final", "enforced", "checkout"],
      ["settle", "move", "fail", "erase"],
      ["ask", "approve", "reject"],
      ["reset"],
    ];
    const step = fc.oneof(...kinds.map((acts) => fc.record({ act: fc.constantFrom(...acts), amount })));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { id: merchantId } = await current.merchant();
        const asking = await current.key(merchantId);
        await storage.setKeyLimits(asking.id, { approvalFrom: { XOF: 1 } }, ACTOR);
        // What the books should contain, computed only from the results of the calls.
        let funds = 0;
        let ends = "success" as End;
        let [pending, waiting]: { cost: number; ends: End }[][] = [[], []];
        const held = () => [...pending!, ...waiting!].reduce((sum, { cost }) => sum + cost, 0);
        const seen: StatementEntry[] = [];
        const settle = async () => {
          while ((await storage.settleDue(100, merchantId)) > 0);
          for (const { cost, ends: ended } of pending!.splice(0)) if (ended === "success") funds -= cost;
        };
        const create = async (given: number, changes: Partial<Draft<Disbursement>> = {}) => {
          const due = { afterMs: 2_000, status: ends };
          return (await pay({ amount: given, fee: 1, due, ...changes }, merchantId)).inserted;
        };
        const decide = async (rejection?: string) => {
          const [oldest] = await storage.listWaiting({ merchantId, limit: 1 });
          const decided = waiting!.shift();
          expect(oldest === undefined).toBe(decided === undefined);
          if (oldest) await storage.decideApproval(merchantId, oldest.reference, "dashboard Grace", rejection);
          if (decided && rejection === undefined) pending!.push(decided);
        };
        const acts: Record<string, (given: number) => Promise<unknown>> = {
          async "top-up"(given) {
            expect(await topUp(given, "XOF", merchantId)).toBe(true);
            funds += given;
          },
          async withdraw(given) {
            const isCovered = funds - held() >= given;
            expect(await topUp(-given, "XOF", merchantId)).toBe(isCovered);
            if (isCovered) funds -= given;
          },
          payout: async (given) => (await create(given)) && pending!.push({ cost: given + 1, ends }),
          async final(given) {
            await current.finalPayout(merchantId, { amount: given, fee: 1, status: ends });
            if (ends === "success") funds -= given + 1;
          },
          async enforced(given) {
            const isCovered = funds - held() >= given + 1;
            expect(await create(given, { mustBeCovered: true })).toBe(isCovered);
            if (isCovered) pending!.push({ cost: given + 1, ends });
          },
          async checkout(given) {
            const { reference } = await current.checkout(merchantId, { amount: given, fee: 2 });
            await storage.finishCheckout(reference, ends);
            if (ends === "success") funds += given - 2;
          },
          async settle() {
            pass(2_000);
            await settle();
          },
          async move() {
            await storage.moveClock(merchantId, { by: 2_000 }, ACTOR);
            await settle();
          },
          fail: async () => (ends = ends === "failed" ? "success" : "failed"),
          async erase() {
            const query = { merchantId, before: current.now() + 1, limit: 3 };
            while (await storage.erasePhones(query));
          },
          ask: async (given) => (await create(given, { keyId: asking.id })) && waiting!.push({ cost: given + 1, ends }),
          approve: () => decide(),
          reject: () => decide("not today"),
          async reset() {
            await storage.reset(merchantId, ACTOR);
            [funds, pending, waiting, seen.length] = [0, [], [], 0];
          },
        };
        for (const { act, amount: given } of steps) {
          await acts[act]!(given);
          expect(await balance(merchantId)).toEqual([funds - held(), held()]);
          const items = await statement(merchantId);
          expect(runningBalances(items)).toEqual([]);
          expect(items[0]?.balance ?? 0).toBe(funds - held());
          // The entries that were read before have not changed.
          seen.unshift(...items.slice(0, items.length - seen.length));
          expect(items).toEqual(seen);
        }
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
}
