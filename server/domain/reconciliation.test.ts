import { expect, test } from "vitest";
import type { Handover, HandoverSummary } from "./handovers.ts";
import { reconcile, type Difference } from "./reconciliation.ts";
import type { RailEntry } from "./rails.ts";

const RAIL = "mobile";
const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 10, 20);
const period = { from: FROM, to: FROM + DAY_MS };

function summary(reference: string, changes: Partial<HandoverSummary> = {}): HandoverSummary {
  const same = { merchantsReference: `own-${reference}`, merchantId: "m-1", amount: 10_000, currency: "XOF" };
  return { reference, ...same, status: "success", state: "closed", createdAt: FROM + 1, railFee: 25, ...changes };
}
const entryOf = ({ reference, amount, currency, status, railFee, createdAt }: HandoverSummary): RailEntry => ({
  reference,
  amount,
  currency,
  status,
  createdAt: createdAt + 5,
  railReference: `R-${reference}`,
  ...(railFee !== undefined && { fee: railFee }),
});

interface Sides {
  here: HandoverSummary[];
  there: RailEntry[];
  /** Payments that exist here, whenever they were created, with their present status. */
  known?: Record<string, Pick<Handover, "rail" | "status">>;
  most?: number;
}
async function compared({ here, there, known = {}, most = 1_000 }: Sides) {
  const differences: Difference[] = [];
  const result = await reconcile({
    storage: {
      async readHandovers(_rail, { from, to }, after, limit) {
        const inPeriod = here.filter(({ createdAt }) => createdAt >= from && createdAt < to);
        const begin = after ? inPeriod.findIndex(({ reference }) => reference === after.reference) + 1 : 0;
        return inPeriod.slice(begin, begin + Math.min(limit, 2));
      },
      findHandover: async (reference) => known[reference] as Handover | undefined,
    },
    rail: RAIL,
    period,
    async *listThere() {
      yield* there;
    },
    most,
    onDifference: (difference) => differences.push(difference),
  });
  return { ...result, found: differences.map(({ kind, reference }) => `${reference}: ${kind}`) };
}

const a = summary("a");
const refused = summary("b", { status: "failed" });
const expired = summary("c", { status: "cancelled" });
const waiting = summary("d", { status: "pending", state: "waiting" });
const accepted = summary("e", { status: "pending", state: "accepted" });
const named = summary("a", { railReference: "R-a" });
const entry = entryOf(a);
const but = (changes: object, of = a) => ({ ...entryOf(of), ...changes });
const unnamed = but({ reference: undefined });
const ended = [but({ status: "success" }, accepted)];
const known = (reference: string, status: Handover["status"], rail = RAIL) => ({ [reference]: { rail, status } });

test.each<[string, Sides, string[]]>([
  ["none", { here: [a], there: [entry] }, []],
  ["missing there", { here: [a], there: [] }, ["a: missing-there"]],
  ["accepted, but missing there", { here: [accepted], there: [] }, ["e: missing-there"]],
  ["not paid, or not yet sent, and not there", { here: [refused, expired, waiting], there: [] }, []],
  ["expired here, failed there", { here: [expired], there: [but({ status: "failed" }, expired)] }, []],
  ["refused here, paid there", { here: [refused], there: [but({ status: "success" }, refused)] }, ["b: status"]],
  ["missing here", { here: [], there: [entry] }, ["a: missing-here"]],
  ["on another rail here", { here: [], there: [entry], known: known("a", "success", "x") }, ["a: missing-here"]],
  ["of another period", { here: [], there: [entry], known: known("a", "success") }, []],
  ["created outside the period there", { here: [], there: [but({ createdAt: FROM - 1 })] }, []],
  ["created the next day there", { here: [a], there: [but({ createdAt: FROM + DAY_MS + 1 })] }, []],
  ["paid twice", { here: [a], there: [entry, but({ railReference: "R-2" })] }, ["a: twice-there"]],
  ["the same entry on two pages", { here: [a], there: [entry, entry] }, []],
  ["named by the rail only", { here: [named], there: [unnamed] }, []],
  ["named by the rail only, different", { here: [named], there: [{ ...unnamed, amount: 1 }] }, ["a: amount"]],
  ["named by the rail only, unknown here", { here: [], there: [unnamed] }, ["R-a: missing-here"]],
  [
    "named by the rail only, and created the day before here",
    { here: [{ ...named, createdAt: FROM - 1 }], there: [unnamed], known: known("a", "success") },
    [],
  ],
  ["amount and fee", { here: [a], there: [but({ amount: 1, fee: 1 })] }, ["a: amount", "a: fee"]],
  ["currency", { here: [a], there: [but({ currency: "XAF" })] }, ["a: currency"]],
  ["a fee that one side does not know", { here: [summary("a", { railFee: undefined! })], there: [entry] }, []],
  ["ended meanwhile", { here: [accepted], there: ended, known: known("e", "success") }, []],
  ["ended there only", { here: [accepted], there: ended, known: known("e", "pending") }, ["e: status"]],
])("finds a difference: %s", async (_, sides, found) => {
  expect((await compared(sides)).found).toEqual(found);
});

test("totals are by day, currency and status, exact beyond 2^53", async () => {
  const huge = 2 ** 53 - 1;
  const here = [summary("a", { amount: huge }), summary("b", { amount: huge }), waiting];
  const result = await compared({ here, there: [entryOf(here[0]!), entryOf(here[1]!), entryOf(summary("z"))] });
  expect(result).toMatchObject({ matched: 2, notExpected: 1, differences: { "missing-here": 1, amount: 0 } });
  const [sum, larger] = [18_014_398_509_481_982n, 18_014_398_509_491_982n];
  const sums = (...[count, amount, fee]: [number, bigint, bigint]) => ({ count, amount, fee });
  const day = { day: "2026-11-20", currency: "XOF" };
  expect(result.totals).toEqual([
    { ...day, status: "pending", here: sums(1, 10_000n, 25n), there: sums(0, 0n, 0n) },
    { ...day, status: "success", here: sums(2, sum, 50n), there: sums(3, larger, 75n) },
  ]);
});

test("more payments than fit into memory are refused", async () => {
  const here = Array.from({ length: 5 }, (_, index) => summary(`p-${index}`));
  await expect(compared({ here, there: [], most: 4 })).rejects.toThrow("more than 4 payments");
});
