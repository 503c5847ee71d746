import { describe, expect, test } from "vitest";
import { createValidators, inlined } from "../contract/validate.ts";
import { anyValueFor, sample, validDisbursements } from "./arbitraries.ts";
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

describe("random requests", () => {
  const requests = validDisbursements("2257038102473", 1000);

  test("are the same for the same seed and differ for another", () => {
    expect(sample(requests, 20, 7)).toEqual(sample(requests, 20, 7));
    expect(sample(requests, 20, 7)).not.toEqual(sample(requests, 20, 8));
    expect(sample(anyValueFor(["amount"]), 20, 7)).toEqual(sample(anyValueFor(["amount"]), 20, 7));
  });

  test("satisfy the contract and have the recipient's last three digits", () => {
    const validate = createValidators("extended")("DisbursementRequest");
    for (const { text, ...fields } of sample(requests, 200, 1)) {
      expect(validate({ ...fields, reference: text })).toEqual([]);
      expect(fields.phoneNumber).toMatch(/473$/);
      expect(fields.amount).toBeLessThanOrEqual(1000);
    }
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
