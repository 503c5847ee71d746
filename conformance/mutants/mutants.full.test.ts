// Tries one mutant of each kind. `npm run mutants` tries all mutants.
import { basename } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { allMutants } from "./mutants.ts";
import { createPool } from "./pool.ts";

const mutants = allMutants();
const pool = createPool();

afterAll(pool.end);

const checkouts = "Checkouts under every pair of conditions are recorded as requested, and their references are used";

/**
 * A mutant of each kind that a single check catches. It has the function (outside of functions, the file), the start of
 * the text that the edit removes, its replacement, and a check that catches it. Changes of order, limit and constraints
 * in SQL are missing, because the code around a statement hides their effect.
 */
const sample = [
  ["removed property", "createdIn", "createdAfter", "", "Lists of records can be filtered"],
  ["constant", "inserted", '"duplicate_reference"', '"mutated"', checkouts],
  ["removed call", "outcomeFor", "phoneNumber.slice(-3)", "phoneNumber", "002 fails immediately"],
  ["boundary", "requireHost", "<=", "<", "Invalid filters are refused"],
  ["condition", "inserted", "isNew", "false", checkouts],
  ["removed element", "app", '"x-api-key"', "", "Invalid filters are refused"],
  ["operand", "outcomeFor", "FORCED_OUTCOMES[phoneNumber.slice(-3)] ?? usual", "(usual)", "002 fails immediately"],
  ["negation", "isPayable", "===", "!==", "Payment page shows the amount divided by 100"],
  ["arithmetic", "feeFor", "/", "*", "Maximum amount is returned unchanged"],
  ["method", "toRefusal", "some", "every", "400 takes precedence over 422"],
  ["removed statement", "declaredBy", "shown[name] = show(field);", ";", checkouts],
  ["removed await", "respond", "await clock.sleep(", "", "408 is recorded and its response delayed"],
  ["removed throw", "existing", "throw new ServiceError(", "", "Records of another merchant are inaccessible"],
  ["pattern", "isWhole", "/0+$/", "/0+/", "Fraction that rounding would hide is refused with 400"],
  ["SQL condition", "recordList.statement", "merchants_reference =", "", "Lists of records can be filtered"],
  ["SQL boundary", "recordList.inRange", ">=", ">", "Lists of records can be filtered"],
  ["SQL assignment", "END", "status =", "", "Checkout can be finished once, with each outcome"],
  ["SQL arithmetic", "payments", " + ", " - ", "503 is returned twice, then the request is accepted"],
  ["SQL function", "END", "greatest", "min", "Final status does not change"],
  ["SQL conflict", "payments", "ON CONFLICT", "", "503 is returned twice, then the request is accepted"],
] as const;

describe("catches a mutant of each kind", { timeout: 120_000 }, () => {
  test.each(sample)("%s in %s: %s → %s", async (operator, where, before, after, check) => {
    const found = mutants.filter(
      (each) =>
        each.operator === operator &&
        (each.where || basename(each.file, ".ts")) === where &&
        each.before.startsWith(before) &&
        (after === "" || each.after === after),
    );
    // A function may have the name of another file.
    const mutant = found.find((each) => each.where === "") ?? found[0];
    expect(mutant).toBeDefined();
    const { verdict } = await pool.attempt({ ids: [mutant!.id], profile: "extended", names: [check] });
    expect(verdict).toBe("caught");
  });
});
