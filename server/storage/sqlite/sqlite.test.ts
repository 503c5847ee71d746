import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useFolder } from "../../testing/resources.ts";
import { durabilityTests } from "../../testing/storage/durability.ts";
import { expectOnlyAllowed, storageSuite } from "../../testing/storage/suite.ts";
import { migrate } from "./database.ts";
import { openSqlite } from "./index.ts";

/** Every statement that a test of this file prepares. */
const statements = new Set<string>();
const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function record(this: DatabaseSync, sql) {
  statements.add(sql);
  return prepare.call(this, sql);
};
afterAll(() => {
  DatabaseSync.prototype.prepare = prepare;
});

storageSuite("SQLite in memory", async (how) => {
  const storage = openSqlite(":memory:", { ...how, server: true });
  return { storage, close: () => storage.close() };
});

const pathOf = useFolder();
describe("storage: SQLite, reopened", () => {
  durabilityTests(async (clock, how) => openSqlite(pathOf("server.db"), { clock, server: true, ...how }));
});

/** A condition on a column in which few rows have the same value. */
const SELECTIVE = /\b(reference|merchants_reference|phone_number|hash|event_id) = [?:]/g;

/**
 * Tests the plan of every statement that the suites above prepared, so a new statement needs no entry here. If ANALYZE
 * has not run, SQLite plans from the schema alone, so the plans for an empty database and for a full database are the
 * same.
 */
describe("query plans", () => {
  let plans: { sql: string; steps: string[] }[];
  beforeAll(() => {
    using db = new DatabaseSync(":memory:");
    migrate(db);
    plans = [...statements].map((sql) => {
      const rows = prepare.call(db, `EXPLAIN QUERY PLAN ${sql}`).all();
      return {
        sql: sql.replaceAll(/\s+/g, " ").replace(" OR FAIL", ""),
        steps: rows.map(({ detail }) => String(detail)),
      };
    });
  });

  // `newest`, `old` and `found` are subqueries with a LIMIT; `days`, `lanes` and `parts` have few rows; `given` and `json_each` have
  // the rows of a parameter.
  test("no statement scans a table or sorts, except those that may", () => {
    expect(plans.length).toBeGreaterThan(60);
    const slow = plans.filter(({ steps }) =>
      steps.some((step) =>
        /^SCAN (?!CONSTANT ROW|\(subquery|(newest|old|found|given|days|lanes|parts)$|json_each )|TEMP B-TREE|AUTOMATIC/.test(
          step,
        ),
      ),
    );
    expectOnlyAllowed(
      "sqlite",
      slow.map(({ sql }) => sql),
    );
  });

  test("a statement with a condition on a reference or a similar column uses the index on it", () => {
    const lookups = plans.flatMap(({ sql, steps }) => {
      const conditions = sql.slice(sql.indexOf(" WHERE "));
      return [...conditions.matchAll(SELECTIVE)].map(([, column]) => ({ sql, steps, column }));
    });
    expect(lookups.length).toBeGreaterThan(15);
    const isIndexed = (step: string, column?: string) => step.includes(`${column}=?`) || step.includes("(id=?)");
    const slow = lookups.filter(({ steps, column }) => !steps.some((step) => isIndexed(step, column)));
    expect(slow).toEqual([]);
  });

  // SQLite seeks the first row that is not less. Without the third column, it would read all rows of the lane before.
  test("a statement that jumps to the next lane compares all columns of the index", () => {
    const jumps = plans.filter(({ steps }) => steps.some((step) => /\(merchant_id,\w+/.test(step)));
    expect(jumps.length).toBeGreaterThan(2);
    const whole = /\(merchant_id,(host|rail),next_attempt_at\)>/;
    expect(jumps.filter(({ steps }) => !steps.some((step) => whole.test(step)))).toEqual([]);
  });
});
