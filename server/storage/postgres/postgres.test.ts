import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { addDelivery, addMerchant } from "../../testing/storage/fixtures.ts";
import { durableStorageSuite, storageSuite } from "../../testing/storage/suite.ts";
import { openPostgres } from "./index.ts";

/** Every prepared statement that a test of this file sends. */
const statements = new Set<string>();
const { query } = Client.prototype;
Client.prototype.query = function record(this: Client, statement: { name?: string; text: string }, ...rest: never[]) {
  // A statement that changes a setting has no plan.
  if (statement.name && !statement.text.startsWith("SET ")) statements.add(statement.text);
  return (query as (...args: unknown[]) => never).call(this, statement, ...rest);
} as never;
afterAll(() => {
  Client.prototype.query = query;
});

describe.each(Object.entries(POSTGRES_SERVERS))("%s", (name, server) => {
  let database: TestDatabase;
  let storage: Storage;
  /** The clock and the listener of the test that runs. */
  let current: Parameters<Parameters<typeof storageSuite>[1]>[0];
  const options = { server: true, time: "process" } as const;
  const currentClock: Clock = {
    now: () => current.clock.now(),
    monotonic: () => current.clock.monotonic(),
    counter: () => current.clock.counter(),
    sleep: (...args) => current.clock.sleep(...args),
    follow: (time) => current.clock.follow(time),
  };
  beforeAll(async () => {
    database = await createTestDatabase(await server());
    current = { clock: createFakeClock(), emit: () => undefined };
    // A start takes longer than most tests, so they share one storage.
    storage = await openPostgres(database.url, {
      clock: currentClock,
      emit: (...event) => current.emit(...event),
      ...options,
    });
  });
  afterAll(async () => {
    await storage.close();
    await database.drop();
  });

  storageSuite(name, async (how) => {
    await database.empty();
    current = how;
    await storage.ping();
    return { storage, close: async () => undefined };
  });

  durableStorageSuite(name, {
    make: () => database.empty(),
    open: (_, clock, how) => openPostgres(database.url, { clock, ...options, ...how }),
    remove: async () => undefined,
  });
});

/** Statements that may read a whole table or index, or sort, with the reason. */
const ALLOWED = [
  {
    sql: /FROM handovers WHERE attention_real IS NOT NULL .*LIMIT (10000|\$2)\b/,
    why: "an index of few rows, up to a limit",
  },
  { sql: /^SELECT (id AS )?merchant_id, (webhook_secret AS )?secret FROM /, why: "runs once, at a start" },
  { sql: /^SELECT \* FROM adjustments ORDER BY /, why: "few proposals, on a page of operators" },
  { sql: /^SELECT \* FROM rail_pauses ORDER BY rail$/, why: "few rails, once per second" },
  { sql: /^SELECT \* FROM (merchants|api_keys) ORDER BY created_at, id$/, why: "the keys command lists all" },
  { sql: /^SELECT id, epoch FROM merchants ORDER BY id$/, why: "the command balances correct reads all books" },
  { sql: /^SELECT \* FROM merchants WHERE rebasing_until_real IS NOT NULL/, why: "few merchants, once per second" },
  { sql: /^WITH (stored|made) AS .+ INSERT INTO entries/, why: "sorts the entries of one batch" },
  { sql: /^SELECT a\.\* FROM accounts a JOIN merchants m ON .+ = a\.epoch $/, why: "the command balances lists all" },
  {
    sql: /^SELECT merchant_id, id, epoch, claimed, .+ ORDER BY id FOR UPDATE$/,
    why: "sorts the webhooks of one batch",
  },
  { sql: /^SELECT m\.id, m\.webhook_secret, /, why: "a merchant has few secrets" },
  { sql: /^SELECT d\.\* FROM disbursements d JOIN .+ d\.approval IS NOT NULL/, why: "few payouts wait for approval" },
  { sql: /^SELECT 1 FROM discarded_epochs LIMIT 1$/, why: "reads one row" },
  { sql: /^SELECT \* FROM discarded_epochs ORDER BY merchant_id, epoch LIMIT 1/, why: "reads one row" },
  { sql: /^SELECT \* FROM \(SELECT r\.\* FROM merchants m CROSS JOIN /, why: "sorts a limited number of rows" },
  { sql: /^SELECT id, .+ FROM merchants m .*\) AS found WHERE /, why: "one row of each merchant, for the overview" },
  { sql: /^SELECT e\.host, a\.at, a\.latency_ms, /, why: "the attempts of a limited number of webhooks" },
  { sql: /^UPDATE replays SET state = 'stopped'/, why: "an index of the running ones, at most one per merchant" },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE expires_real <= /, why: "few rows, when a link is made" },
  {
    sql: /^SELECT \* FROM dashboard_(links|sessions) WHERE expires_real > .+ LIMIT/,
    why: "few rows, of all merchants",
  },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE .+invited_by/, why: "few rows, when access is ended" },
  {
    sql: /^(UPDATE (erasures|replays|merchants)|DELETE FROM (dashboard_|request_rates)).+ > \(SELECT \$1::bigint\)/,
    why: "runs once, after a clock that was ahead was corrected",
  },
];

/**
 * Returns the plan that PostgreSQL chooses if it avoids sequential scans and sorts at any cost. If the plan still has a
 * scan or a sort, or reads an index without a condition, the statement lacks an index.
 */
async function scansOf(database: TestDatabase, sql: string): Promise<string[]> {
  const rows = await database.run(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${sql}`);
  const lines = rows.map((row) => String(row["QUERY PLAN"]));
  return lines.filter((line, index) => {
    if (/(^|-> +)(Incremental )?Sort$/.test(line)) return true;
    const isIndexScan = /Index (Only )?Scan using/.test(line);
    return /Seq Scan on/.test(line) || (isIndexScan && !/Index Cond/.test(lines[index + 1] ?? ""));
  });
}

/** If a table has only a few keys, PostgreSQL reads all of them instead of using the index. */
const MANY_KEYS = `INSERT INTO api_keys (id, merchant_id, hash, hint, created_at)
  SELECT n::text, m.id, sha256(n::text::bytea), '', 0 FROM merchants m, generate_series(1, 2000) AS n`;

test("no statement reads a whole table or sorts, except those that may", async () => {
  const database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const storage = await openPostgres(database.url, { clock: createFakeClock(), server: false });
  await addMerchant(storage);
  await storage.close();
  await database.run(`${MANY_KEYS}; ANALYZE api_keys`);
  // Merge and hash joins of small tables read whole indexes.
  const avoided = ["seqscan", "sort", "incremental_sort", "mergejoin", "hashjoin"];
  await database.run(avoided.map((way) => `SET enable_${way} = off`).join("; "));
  expect(statements.size).toBeGreaterThan(60);
  const plans: { sql: string; scans: string[] }[] = [];
  for (const statement of statements) {
    plans.push({ sql: statement.replaceAll(/\s+/g, " "), scans: await scansOf(database, statement) });
  }
  await database.drop();
  const slow = plans.filter(({ scans }) => scans.length > 0);
  expect(slow.filter(({ sql }) => !ALLOWED.some((allowed) => allowed.sql.test(sql)))).toEqual([]);
  for (const { sql } of ALLOWED)
    expect
      .soft(
        slow.some((each) => sql.test(each.sql)),
        String(sql),
      )
      .toBe(true);
});

/** Makes 20,000 copies of the only event. The copied rows fall due later. */
const MANY_EVENTS = `INSERT INTO events SELECT copy.* FROM events e, generate_series(1, 20000) AS n,
  LATERAL jsonb_populate_record(e, jsonb_build_object('id', e.id || n, 'seq', e.seq + n, 'ready', false,
    'due_real', e.created_at + 86400000)) AS copy`;

test("with many events, of which few are due, the queue is read by its indexes", async () => {
  const database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const storage = await openPostgres(database.url, { clock: createFakeClock(), server: false });
  await addDelivery(storage, (await addMerchant(storage)).id);
  await database.run(`${MANY_EVENTS}; ANALYZE events`);
  await storage.close();
  const ofQueue = [...statements].filter((sql) => /FROM events WHERE (due_real|ready)/.test(sql));
  expect(ofQueue.length).toBeGreaterThan(3);
  for (const sql of ofQueue) {
    const rows = await database.run(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${sql}`);
    const plan = rows.map((row) => String(row["QUERY PLAN"])).join("\n");
    expect.soft(plan, sql).not.toContain("Seq Scan on events");
  }
  await database.drop();
});
