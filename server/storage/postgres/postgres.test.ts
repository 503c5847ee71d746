import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useDatabase } from "../../testing/resources.ts";
import { addDelivery, addMerchant } from "../../testing/storage/fixtures.ts";
import { durabilityTests } from "../../testing/storage/durability.ts";
import { expectOnlyAllowed, storageSuite } from "../../testing/storage/suite.ts";
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

const options = { server: true, time: "process" } as const;

describe("on an empty database", () => {
  const database = useDatabase();
  let storage: Storage;
  /** The clock and the listener of the test that runs. */
  let current: Parameters<Parameters<typeof storageSuite>[1]>[0];
  const currentClock = new Proxy({} as Clock, { get: (_, of) => Reflect.get(current.clock, of) as unknown });
  beforeAll(async () => {
    current = { clock: createFakeClock(), emit: () => undefined };
    // A start takes longer than most tests, so they share one storage.
    storage = await openPostgres(database.url, {
      clock: currentClock,
      emit: (...event) => current.emit(...event),
      ...options,
    });
  });
  afterAll(() => storage.close());

  beforeEach(() => database.empty());

  storageSuite("PostgreSQL", async (how) => {
    current = how;
    await storage.ping();
    return { storage, close: async () => undefined };
  });
  durabilityTests((clock, how) => openPostgres(database.url, { clock, ...options, ...how }));
});

describe("query plans", () => {
  const database = useDatabase();

  /**
   * The plan that PostgreSQL chooses if it avoids sequential scans and sorts at any cost. If the plan still has a scan or
   * a sort, or reads an index without a condition, the statement lacks an index.
   */
  async function isSlow(sql: string): Promise<boolean> {
    const lines = await planOf(sql);
    return lines.some((line, index) => {
      const isIndexScan = /Index (Only )?Scan using/.test(line);
      const isWholeIndex = isIndexScan && !/Index Cond/.test(lines[index + 1] ?? "");
      return isWholeIndex || /(^|-> +)(Incremental )?Sort$|Seq Scan on/.test(line);
    });
  }
  const planOf = async (sql: string) =>
    (await database.run(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${sql}`)).map((row) => String(row["QUERY PLAN"]));

  /** If a table has only a few keys, PostgreSQL reads all of them instead of using the index. */
  const MANY_KEYS = `INSERT INTO api_keys (id, merchant_id, hash, hint, created_at)
    SELECT n::text, m.id, sha256(n::text::bytea), '', 0 FROM merchants m, generate_series(1, 2000) AS n`;
  /** Makes 20,000 copies of the only event. The copied rows fall due later. */
  const MANY_EVENTS = `INSERT INTO events SELECT copy.* FROM events e, generate_series(1, 20000) AS n,
    LATERAL jsonb_populate_record(e, jsonb_build_object('id', e.id || n, 'seq', e.seq + n, 'ready', false,
      'next_attempt_at', e.created_at + 86400000)) AS copy`;

  test("no statement reads a whole table or sorts, except those that may; the queue is read by its indexes", async () => {
    const storage = await openPostgres(database.url, { clock: createFakeClock(), server: false });
    await addDelivery(storage, (await addMerchant(storage)).id);
    await storage.close();
    await database.run(`${MANY_KEYS}; ANALYZE api_keys`);
    expect(statements.size).toBeGreaterThan(60);
    // Merge and hash joins of small tables read whole indexes.
    const avoided = ["seqscan", "sort", "incremental_sort", "mergejoin", "hashjoin"];
    await database.run(avoided.map((way) => `SET enable_${way} = off`).join("; "));
    const slow: string[] = [];
    for (const sql of statements) if (await isSlow(sql)) slow.push(sql.replaceAll(/\s+/g, " "));
    expectOnlyAllowed("postgres", slow);

    await database.run(`RESET ALL; ${MANY_EVENTS}; ANALYZE events`);
    const ofQueue = [...statements].filter((sql) => /FROM events WHERE (next_attempt_at|leased_until|ready)/.test(sql));
    expect(ofQueue.length).toBeGreaterThan(3);
    for (const sql of ofQueue) expect.soft((await planOf(sql)).join("\n"), sql).not.toContain("Seq Scan on events");
  });
});
