import { expect, test } from "vitest";
import type { Context } from "../check.ts";
import type { Declaration } from "../allowances/declaration.ts";
import { createLimits } from "../allowances/limits.ts";
import { createRandom } from "../generate/random.ts";
import { checkoutBody } from "./bodies.ts";

/** Returns what the checkouts of a run have in a field. */
function values(field: string, { seed = 1, declared = {} as Declaration, loopback = true, recipient = "2347" } = {}) {
  const options = { loopback, recipient, assumed: [] };
  const context = { options, random: createRandom(seed, "a check"), limits: createLimits(declared) };
  return Array.from({ length: 40 }, () => checkoutBody(context as unknown as Context)[field]);
}

test("checkouts have other values for another seed, and the same for the same seed", () => {
  expect(new Set(values("country"))).toEqual(new Set(["CI", "NG", "GH", "KE"]));
  expect(new Set(values("amount")).size).toBeGreaterThan(30);
  expect(values("amount")).toEqual(values("amount"));
  expect(values("amount")).not.toEqual(values("amount", { seed: 2 }));
});

test("checkouts are in the recipient's country unless phone numbers may be made up", () => {
  expect(new Set(values("currency", { loopback: false }))).toEqual(new Set(["NGN"]));
});

test("checkouts have values inside the limits of the target", () => {
  const declared = { countries: ["NG", "KE"], largestAmount: 2000 };
  expect(new Set(values("country", { declared }))).toEqual(new Set(["NG", "KE"]));
  expect(Math.max(...values("amount", { declared }).map(Number))).toBe(2000);
});

test("a check's own values are sent as they are", () => {
  const options = { loopback: true, recipient: "2347", assumed: [] };
  const context = { options, random: createRandom(1, "a check"), limits: createLimits({ largestAmount: 5 }) };
  const body = checkoutBody(context as unknown as Context, { amount: 9, country: "XX", currency: undefined });
  expect(body).toEqual({ amount: 9, country: "XX", currency: undefined });
});
