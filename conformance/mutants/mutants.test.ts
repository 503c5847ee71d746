// Tests the committed matrix, and tries a sample of it. The command `npm run mutants` tries all mutants.
import { afterAll, describe, expect, test } from "vitest";
import { checks } from "../checks/index.ts";
import { explains, explanations, isAlive, stale } from "./explained.ts";
import { readMatrix } from "./matrix.ts";
import { allMutants } from "./mutants.ts";
import { createPool } from "./pool.ts";

const { about, rows } = readMatrix();
const current = new Map(allMutants().map((mutant) => [mutant.id, mutant]));
const pool = createPool();

afterAll(pool.end);

describe("the matrix", () => {
  test("explains every mutant that survives", () => {
    const unexplained = rows
      .filter(isAlive)
      .filter((row) => !explanations.some((explanation) => explains(explanation, row)));
    expect(unexplained.map(({ id, file, where, change }) => `${id} ${file} ${where}: ${change}`)).toEqual([]);
  });

  test("explains no mutant that is caught or no longer exists", () => {
    expect(stale(rows, current)).toEqual([]);
  });

  test("is about the present server: at most a fifth of its mutants no longer exist", () => {
    const gone = rows.filter(({ id }) => !current.has(id));
    expect(gone.length).toBeLessThan(rows.length / 5);
  });

  test("does not claim more mutants than it lists", () => {
    expect(rows.length).toBeLessThanOrEqual(about.mutants);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });
});

const closing = new Set(checks.filter(({ phase }) => phase === "closing").map(({ name }) => name));
/**
 * For each kind of edit, the first mutant that a check caught and that still exists. Mutants of clock and
 * random generator are left out, because catching them may take the state that earlier checks leave behind.
 */
const sample = new Map(
  rows
    .filter(({ id, verdict, check = "" }) => verdict === "caught" && current.has(id) && !closing.has(check))
    .filter(({ file, where }) => file !== "domain/time.ts" && where !== "pooled")
    .toReversed()
    .map((row) => [row.operator, row]),
);

test("the sample has many kinds of edits", () => {
  expect(sample.size).toBeGreaterThanOrEqual(15);
});

describe("catches a mutant of each kind", { timeout: 120_000 }, () => {
  test.each([...sample.values()].map((row) => [`${row.operator}: ${row.file} ${row.change}`, row] as const))(
    "%s",
    async (_, { id, check }) => {
      const { verdict } = await pool.attempt({ ids: [id], profile: "extended", names: [check!] });
      expect(verdict).toBe("caught");
    },
  );
});
