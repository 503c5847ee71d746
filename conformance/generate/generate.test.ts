import { describe, expect, test } from "vitest";
import { createValidators, inlined } from "../contract/validate.ts";
import { combinationsIn, covering, pairsOf } from "./covering.ts";
import { conditionsOf, coverageOf, rowCount, valuesOf } from "./inputs.ts";
import { mutations } from "./mutations.ts";

const valid = { reference: "certify-1", amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };

describe.each(["core", "extended"] as const)("mutations of a disbursement, %s profile", (profile) => {
  const validate = createValidators(profile)("DisbursementRequest");
  const all = mutations(inlined(profile, "DisbursementRequest"), valid, "shop.example");
  const invalid = all.filter(({ body }) => validate(JSON.parse(JSON.stringify(body))).length > 0);

  test.each(Object.keys(valid))("omit %s and invalidate it in many ways", (field) => {
    const broken = invalid.filter((mutation) => mutation.field === field);
    expect(broken.some(({ body }) => !(field in body))).toBe(true);
    expect(broken.length).toBeGreaterThan(field === "reference" ? 8 : 15);
  });
});

test("core does not restrict what the interface leaves open", () => {
  const long = { ...valid, reference: "x".repeat(65), webhookURL: "ftp://merchant.example" };
  expect(createValidators("core")("DisbursementRequest")(long)).toEqual([]);
  const faults = createValidators("extended")("DisbursementRequest")(long);
  expect(new Set(faults.map((fault) => fault.split(" ")[0]))).toEqual(new Set(["reference", "webhookURL"]));
});

/** Returns the values that have requirements of their own. */
const judgedIn = (all: ReturnType<typeof conditionsOf>) =>
  new Set(all.flatMap((each) => valuesOf(each).flatMap(([, { id, what }]) => (id === undefined ? [] : [what]))));

describe("covering arrays", () => {
  const sizes = [2, 3, 4, 3];

  test("have every pair, and the triples that were asked for, in few rows", () => {
    const rows = covering(sizes, [[0, 1, 2]]);
    expect(combinationsIn(rows, pairsOf(4)).size).toBe(2 * 3 + 2 * 4 + 2 * 3 + 3 * 4 + 3 * 3 + 4 * 3);
    expect(combinationsIn(rows, [[0, 1, 2]]).size).toBe(2 * 3 * 4);
    expect(rows.length).toBeLessThan(2 * 3 * 4 + 3);
  });

  test("the conditions of payouts have the same coverage for every seed, and another order", () => {
    const [first, ...others] = [1, 2, 3, 4, 5].map((seed) => conditionsOf(seed));
    for (const other of others) {
      expect(coverageOf(other)).toEqual(coverageOf(first!));
      expect(other).toHaveLength(rowCount);
      expect(other).not.toEqual(first);
    }
    expect(conditionsOf(1)).toEqual(first);
  });

  test.each(["currency", "number"] as const)("each country meets the %s of the four others", (name) => {
    const foreign = conditionsOf(3).filter((each) => each[name].foreign);
    const countries = Map.groupBy(foreign, ({ place }) => place);
    expect([...countries.values()].map(({ length }) => length).filter((length) => length < 4)).toEqual([]);
    expect(countries.size).toBe(6);
  });

  test("each value with a requirement of its own meets the country's own currency and phone number", () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const conditions = conditionsOf(seed);
      const atHome = conditions.filter(({ currency, number }) => !currency.foreign && !number.foreign);
      expect(judgedIn(atHome)).toEqual(judgedIn(conditions));
    }
  });
});
