import { describe, expect, test } from "vitest";
import { createValidators, inlined } from "../contract/validate.ts";
import { anyValueFor, sample } from "./arbitraries.ts";
import { combinationsIn, covering, pairsOf } from "./covering.ts";
import { conditionsOf, coverageOf, rowCount, usual } from "./inputs.ts";
import { ModelMismatch, runSequences, type Actions } from "./model.ts";
import { mutations } from "./mutations.ts";

const valid = { reference: "certify-1", amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };

describe.each(["core", "extended"] as const)("mutations of a disbursement, %s profile", (profile) => {
  const validate = createValidators(profile)("DisbursementRequest");
  const all = mutations(inlined(profile, "DisbursementRequest"), valid);
  const invalid = all.filter(({ body }) => validate(JSON.parse(JSON.stringify(body))).length > 0);

  test("start from a valid request", () => {
    expect(validate(valid)).toEqual([]);
  });

  test.each(Object.keys(valid))("omit %s and invalidate it in many ways", (field) => {
    const broken = invalid.filter((mutation) => mutation.field === field);
    expect(broken.some(({ body }) => !(field in body))).toBe(true);
    expect(broken.length).toBeGreaterThan(field === "reference" ? 8 : 15);
  });

  test("include valid requests, which the validator must filter out", () => {
    expect(all.length - invalid.length).toBeGreaterThan(5);
  });
});

test("core does not restrict what the interface leaves open", () => {
  const long = { ...valid, reference: "x".repeat(65), webhookURL: "ftp://merchant.example" };
  expect(createValidators("core")("DisbursementRequest")(long)).toEqual([]);
  const faults = createValidators("extended")("DisbursementRequest")(long);
  expect(new Set(faults.map((fault) => fault.split(" ")[0]))).toEqual(new Set(["reference", "webhookURL"]));
});

test("random values are the same for the same seed and differ for another", () => {
  const values = anyValueFor(["amount"]);
  expect(sample(values, 20, 7)).toEqual(sample(values, 20, 7));
  expect(sample(values, 20, 7)).not.toEqual(sample(values, 20, 8));
});

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

  test("without some values, the coverage is smaller", () => {
    const conditions = conditionsOf(1).map((each) => usual(each, ["currency", "ending"]));
    expect(coverageOf(conditions).pairs).toBeLessThan(coverageOf(conditionsOf(1)).pairs);
  });
});

const fine = async () => undefined;
const broken = async () => {
  throw new TypeError("broken");
};

/** Returns the actions of a correct in-memory service. `faults` replaces some of them. */
function service(faults: Partial<Actions> = {}): Actions {
  let count = 0;
  return {
    create: async (amount) => ({ merchantsReference: `m${(count += 1)}`, reference: `s${count}`, amount }),
    createRefused: fine,
    repeat: fine,
    verify: fine,
    verifyUnknown: fine,
    ...faults,
  };
}

const fail = async () => {
  throw new ModelMismatch("expected 409, received 200");
};

describe("model-based sequences", () => {
  test("find no fault in a correct service", async () => {
    expect(await runSequences(service(), 20, 3)).toBeUndefined();
  });

  test.each(["create", "createRefused", "repeat", "verify", "verifyUnknown"] as const)(
    "find a fault in %s and name the sequence",
    async (action) => {
      expect(await runSequences(service({ [action]: fail }), 20, 3)).toMatch(
        /^expected 409, received 200, after .*(create|verify)/,
      );
    },
  );

  test("make no more payouts than allowed", async () => {
    let paid = 0;
    const create = async (amount: number) => ({ merchantsReference: "m", reference: `s${(paid += 1)}`, amount });
    await runSequences(service({ create }), 4, 11);
    expect(paid).toBeLessThanOrEqual(48);
  });

  test("rethrow errors that are not faults of the service", async () => {
    await expect(runSequences(service({ verify: broken }), 20, 3)).rejects.toThrow("broken");
  });
});
