import { expect, test } from "vitest";
import type { Handover, HandoverSummary } from "./handovers.ts";
import { reconcile } from "./reconciliation.ts";
import type { RailEntry } from "./rails.ts";

const RAIL = "mobile";
const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 10, 20);
const period = { from: FROM, to: FROM + DAY_MS };

function summary(reference: string, changes: Partial<HandoverSummary> = {}): HandoverSummary {
  const same = { merchantsReference: `own-${reference}`, merchantId: "m-1", amount: 10_000, currency: "XOF" };
  return { reference, ...same, status: "success", state: "closed", createdAt: FROM + 1, railFee: 25, ...changes };
}
function entryOf(payment: HandoverSummary, changes: Partial<RailEntry> = {}): RailEntry {
  const { reference, amount, currency, status, railFee, createdAt } = payment;
  const own = { railReference: `R-${reference}`, createdAt: createdAt + 5 };
  return { reference, amount, currency, status, ...own, ...(railFee !== undefined && { fee: railFee }), ...changes };
}

/** Payments that exist here, whenever they were created, with their present status. */
type Known = Record<string, Pick<Handover, "rail" | "status">>;
const known = (reference: string, status: Handover["status"] = "success", rail = RAIL): Known => ({
  [reference]: { rail, status },
});

async function compared(here: HandoverSummary[], there: RailEntry[], present: Known = {}, most = 1_000) {
  const result = await reconcile({
    storage: {
      async readHandovers(_rail, { from, to }, after, limit) {
        const inPeriod = here.filter(({ createdAt }) => createdAt >= from && createdAt < to);
        const begin = after ? inPeriod.findIndex(({ reference }) => reference === after.reference) + 1 : 0;
        return inPeriod.slice(begin, begin + Math.min(limit, 2));
      },
      findHandover: async (reference) => present[reference] as never,
    },
    rail: RAIL,
    period,
    async *listThere() {
      yield* there;
    },
    most,
  });
  return { ...result, found: result.found.map(({ kind, reference }) => `${reference}: ${kind}`) };
}

const a = summary("a");
const refused = summary("b", { status: "failed" });
const expired = summary("c", { status: "cancelled" });
const waiting = summary("d", { status: "pending", state: "waiting" });
const accepted = summary("e", { status: "pending", state: "accepted" });
const entry = entryOf(a);
const withoutOurs = { ...entry, reference: undefined };
const namedByRail = summary("a", { railReference: "R-a" });
const ofDayBefore = { ...namedByRail, createdAt: FROM - 1 };

test.each<[string, HandoverSummary[], RailEntry[], string[], Known?]>([
  ["none", [a], [entry], []],
  ["missing there", [a], [], ["a: missing-there"]],
  ["accepted, but missing there", [accepted], [], ["e: missing-there"]],
  ["not paid, or not yet sent, and not there", [refused, expired, waiting], [], []],
  ["expired here, failed there", [expired], [entryOf(expired, { status: "failed" })], []],
  ["refused here, paid there", [refused], [entryOf(refused, { status: "success" })], ["b: status"]],
  ["missing here", [], [entry], ["a: missing-here"]],
  ["on another rail here", [], [entry], ["a: missing-here"], known("a", "success", "x")],
  ["of another period", [], [entry], [], known("a")],
  ["created outside the period there", [], [entryOf(a, { createdAt: FROM - 1 })], []],
  ["created the next day there", [a], [entryOf(a, { createdAt: FROM + DAY_MS + 1 })], []],
  ["paid twice", [a], [entry, entryOf(a, { railReference: "R-2" })], ["a: twice-there"]],
  ["the same entry on two pages", [a], [entry, entry], []],
  ["named by the rail only", [namedByRail], [withoutOurs], []],
  ["named by the rail only, different", [namedByRail], [{ ...withoutOurs, amount: 1 }], ["a: amount"]],
  ["named by the rail only, unknown here", [], [withoutOurs], ["R-a: missing-here"]],
  ["named by the rail only, and created the day before here", [ofDayBefore], [withoutOurs], [], known("a")],
  ["amount and fee", [a], [entryOf(a, { amount: 1, fee: 1 })], ["a: amount", "a: fee"]],
  ["currency", [a], [entryOf(a, { currency: "XAF" })], ["a: currency"]],
  ["a fee that one side does not know", [summary("a", { railFee: undefined! })], [entry], []],
  ["ended meanwhile", [accepted], [entryOf(accepted, { status: "success" })], [], known("e")],
  ["ended there only", [accepted], [entryOf(accepted, { status: "success" })], ["e: status"], known("e", "pending")],
])("a difference: %s", async (_, here, there, found, present) => {
  expect((await compared(here, there, present)).found).toEqual(found);
});

test("totals are by day, currency and status, exact beyond 2^53", async () => {
  const huge = 2 ** 53 - 1;
  const here = [summary("a", { amount: huge }), summary("b", { amount: huge }), waiting];
  const result = await compared(here, [entryOf(here[0]!), entryOf(here[1]!), entryOf(summary("z"))]);
  expect(result).toMatchObject({ matched: 2, notExpected: 1, differences: { "missing-here": 1, amount: 0 } });
  const days = { day: "2026-11-20", currency: "XOF" };
  const [none, one] = [
    { count: 0, amount: 0n, fee: 0n },
    { count: 1, amount: 10_000n, fee: 25n },
  ];
  const here2 = { count: 2, amount: 18_014_398_509_481_982n, fee: 50n };
  const there3 = { count: 3, amount: 18_014_398_509_491_982n, fee: 75n };
  expect(result.totals).toEqual([
    { ...days, status: "pending", here: one, there: none },
    { ...days, status: "success", here: here2, there: there3 },
  ]);
});

test("more payments than fit into memory are refused", async () => {
  const here = Array.from({ length: 5 }, (_, index) => summary(`p-${index}`));
  await expect(compared(here, [], {}, 4)).rejects.toThrow("more than 4 payments");
});
