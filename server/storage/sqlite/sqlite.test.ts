import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { durableStorageSuite, storageSuite } from "../../testing/storage/suite.ts";
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

const folder = () => mkdtempSync(join(tmpdir(), "sqlite-"));
const remove = (path: string) => rmSync(path, { recursive: true });

// In memory, because a file waits for the disk. file.full.test.ts runs the suite in files.
storageSuite("SQLite in memory", async (how) => {
  const storage = openSqlite(":memory:", { ...how, server: true });
  return { storage, close: () => storage.close() };
});

durableStorageSuite("SQLite", {
  make: async () => folder(),
  open: async (place, clock, how) => openSqlite(join(place, "server.db"), { clock, server: true, ...how }),
  remove: async (place) => remove(place),
});

/** Statements that may scan or sort, with the reason. */
const ALLOWED = [
  {
    sql: /^SELECT rail, state, count\(\*\) AS count FROM handovers /,
    why: "an index of the open payments, for metrics",
  },
  { sql: /^SELECT rail, count\(conflict\) .+ LIMIT 10000\)/, why: "groups a limited number of rows, for metrics" },
  { sql: /^SELECT (id AS )?merchant_id, (webhook_secret AS )?secret FROM /, why: "runs once, at a start" },
  { sql: /^SELECT \* FROM adjustments ORDER BY /, why: "few proposals, on a page of operators" },
  { sql: /^SELECT \* FROM rail_pauses ORDER BY rail$/, why: "few rails, once per second" },
  { sql: /^SELECT name FROM sqlite_schema WHERE type = 'table'$/, why: "runs once, at a start" },
  { sql: /^SELECT id FROM merchants WHERE rebasing = 1$/, why: "runs once, when a server starts" },
  { sql: /^SELECT 1 FROM discarded_epochs LIMIT 1$/, why: "reads one row" },
  { sql: /^SELECT \* FROM discarded_epochs ORDER BY merchant_id, epoch LIMIT 1/, why: "reads one row" },
  { sql: /^SELECT \* FROM (merchants|api_keys) ORDER BY created_at, id$/, why: "the keys command lists all" },
  { sql: /^SELECT id, epoch FROM merchants ORDER BY id$/, why: "the command balances correct reads all books" },
  { sql: /^SELECT r\.merchant_id, r\.currency, .+ GROUP BY /, why: "groups one step of the books of a merchant" },
  { sql: /^SELECT a\.\* FROM accounts a JOIN merchants m ON .+ = a\.epoch $/, why: "the command balances lists all" },
  { sql: /^SELECT \* FROM \(SELECT r\.\* FROM merchants m CROSS JOIN /, why: "an operator searches all merchants" },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE expires_real <= /, why: "few rows, when a link is made" },
  {
    sql: /^SELECT \* FROM dashboard_(links|sessions) WHERE expires_real > .+ LIMIT/,
    why: "few rows, of all merchants",
  },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE .+invited_by/, why: "few rows, when access is ended" },
  { sql: /^SELECT d\.\* FROM disbursements d JOIN .+ d\.approval IS NOT NULL/, why: "few payouts wait for approval" },
  { sql: /^SELECT status, currency, count\(\*\) AS payments, /, why: "groups the payments of a part of a day" },
  { sql: /^SELECT id, .+ FROM merchants m \) AS found WHERE /, why: "one row of each merchant, for the overview" },
  {
    sql: /^SELECT (host|failure), count\(\*\) AS count.* FROM \(.+ LIMIT (200|1000)\) AS found /,
    why: "groups a limited number of rows",
  },
  { sql: /^SELECT e\.host, a\.at, a\.latency_ms, /, why: "the attempts of a limited number of webhooks" },
];

/** A condition on a column in which few rows have the same value. */
const SELECTIVE = /\b(reference|merchants_reference|phone_number|hash|event_id) = [?:]/g;

/**
 * Tests the plan of every statement that the suites above prepared, so a new statement needs no entry here. If ANALYZE
 * has not run, SQLite plans from the schema alone, so the plans for an empty database and for a full database are the
 * same.
 */
describe("query plans", () => {
  let plans: { sql: string; steps: string[]; fillsTable: boolean }[];
  beforeAll(async () => {
    const place = folder();
    const path = join(place, "server.db");
    await openSqlite(path, { clock: createFakeClock(), server: true }).close();
    const db = new DatabaseSync(path);
    plans = [...statements].map((sql) => {
      const rows = prepare.call(db, `EXPLAIN QUERY PLAN ${sql}`).all();
      const fillsTable = prepare
        .call(db, `EXPLAIN ${sql}`)
        .all()
        .some(({ opcode }) => opcode === "OpenEphemeral");
      return { sql: sql.replaceAll(/\s+/g, " "), steps: rows.map(({ detail }) => String(detail)), fillsTable };
    });
    db.close();
    remove(place);
  });

  // `newest`, `old` and `found` are subqueries with a LIMIT; `days` has one row for each day; `given` and `json_each` have
  // the rows of a parameter.
  test("no statement scans a table or sorts, except those that may", () => {
    expect(plans.length).toBeGreaterThan(60);
    const slow = plans.filter(({ steps }) =>
      steps.some((step) =>
        /^SCAN (?!CONSTANT ROW|\(subquery|(newest|old|found|given|days)$|json_each )|TEMP B-TREE|AUTOMATIC/.test(step),
      ),
    );
    expect(slow.filter(({ sql }) => !ALLOWED.some((allowed) => allowed.sql.test(sql)))).toEqual([]);
    for (const { sql } of ALLOWED)
      expect
        .soft(
          slow.some((each) => sql.test(each.sql)),
          String(sql),
        )
        .toBe(true);
  });

  test("a statement with a condition on a reference or a similar column uses the index on it", () => {
    const lookups = plans.flatMap(({ sql, steps }) => {
      const conditions = sql.slice(sql.indexOf(" WHERE "));
      return [...conditions.matchAll(SELECTIVE)].map(([, column]) => ({ sql, steps, column }));
    });
    expect(lookups.length).toBeGreaterThan(15);
    expect(lookups.filter(({ steps, column }) => !steps.some((step) => step.includes(`${column}=?`)))).toEqual([]);
  });

  // A check with IN and more than two values and RETURNING do so for each row.
  test("no write of one payment, webhook or entry fills a temporary table", () => {
    const writes = plans.filter(({ sql }) =>
      /^INSERT (?!INTO refusals).* VALUES \(\?|^UPDATE (?!.*SELECT).* WHERE (rowid|id) = \?/.test(sql),
    );
    expect(writes.length).toBeGreaterThan(10);
    expect(writes.filter(({ fillsTable }) => fillsTable)).toEqual([]);
  });

  // SQLite seeks the first row that is not less. Without the third column, it would read all rows of the lane before.
  test("a statement that jumps to the next lane compares all columns of the index", () => {
    const jumps = plans.filter(({ steps }) => steps.some((step) => /\(merchant_id,\w+/.test(step)));
    expect(jumps.length).toBeGreaterThan(3);
    const whole = /\(merchant_id,(host|rail),next_attempt_at\)>/;
    expect(jumps.filter(({ steps }) => !steps.some((step) => whole.test(step)))).toEqual([]);
  });
});
