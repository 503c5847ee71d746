import { expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import { anyPayee } from "./countries.ts";
import { combinationsIn, covering, pairsOf } from "./covering.ts";
import { conditionsOf, coverageOf, rowCount } from "./inputs.ts";
import { createRandom } from "./random.ts";

function payees(over: Partial<RunOptions>) {
  const options = { recipient: "2257038102473", assumed: ["recipient"], ...over } as unknown as RunOptions;
  const random = createRandom(7, "a check");
  return Array.from({ length: 2000 }, () => anyPayee(options, random));
}

test("only the recipient is paid where a payout could reach a stranger", () => {
  const paid = payees({ loopback: false, environment: "live" }).map((payee) => JSON.stringify(payee));
  expect([...new Set(paid)]).toEqual(['{"phoneNumber":"2257038102473","country":"CI","currency":"XOF"}']);
});

test("the last digits of made-up numbers vary and force no outcome", () => {
  const ends = new Set(payees({ loopback: true }).map(({ phoneNumber }) => phoneNumber.slice(-3)));
  expect(ends.size).toBeGreaterThan(700);
  for (const forced of ["001", "002", "089", "129", "408", "500", "503", "504", "601", "609"])
    expect(ends).not.toContain(forced);
});

test("covering arrays have every pair, and the triples that were asked for, in few rows", () => {
  const rows = covering([2, 3, 4, 3], [[0, 1, 2]]);
  expect(combinationsIn(rows, pairsOf(4)).size).toBe(2 * 3 + 2 * 4 + 2 * 3 + 3 * 4 + 3 * 3 + 4 * 3);
  expect(combinationsIn(rows, [[0, 1, 2]]).size).toBe(2 * 3 * 4);
  expect(rows.length).toBeLessThan(2 * 3 * 4 + 3);
});

test("the conditions of payouts have the same coverage for every seed, and another order", () => {
  const [first, ...others] = [1, 2, 3, 4, 5].map((seed) => conditionsOf(seed));
  for (const other of others) {
    expect([coverageOf(other), other.length]).toEqual([coverageOf(first!), rowCount]);
    expect(other).not.toEqual(first);
  }
});
