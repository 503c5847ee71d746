// Tests how many pages of the database the statements of a payout and its webhook read, beside 2,000 payouts that are stored
// already and without statistics of the tables. A statement with a wrong plan reads pages for each stored payout.
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { aDisbursement, addMerchant, claimAll, concurrently, SECOND } from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

const STORED = 2_000;
const PAYOUTS = 20;
/** The most pages for each row of `PAYOUTS`, and for a statement. A webhook has 12 indexes. */
const PAGES_OF_ROW = 40;
const PAGES = 100;

interface Plan {
  Plan: Record<"Shared Hit Blocks" | "Shared Read Blocks", number>;
}
type Sent = { name?: string; text: string; values?: unknown[] };

/** The pages that each statement has read, if they are counted. */
let counted: Map<string, number> | undefined;
const { query } = Client.prototype;
const send = query as (this: Client, ...args: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** Executes a statement twice: once to count its pages, which is undone, and once as it was sent. */
async function counting(client: Client, pages: Map<string, number>, statement: Sent) {
  const { text, values } = statement;
  const isWrite = /INSERT|UPDATE|DELETE/.test(text);
  if (isWrite) await send.call(client, "SAVEPOINT counting");
  const { rows } = await send.call(client, { text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values });
  if (isWrite) await send.call(client, "ROLLBACK TO counting");
  const [{ Plan }] = rows[0]!["QUERY PLAN"] as [Plan];
  const read = Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
  pages.set(text, Math.max(read, pages.get(text) ?? 0));
  return send.call(client, statement);
}

let database: TestDatabase;
let storage: Storage;
const clock = createFakeClock();
beforeAll(async () => {
  Client.prototype.query = function (this: Client, statement: Sent, ...rest: never[]) {
    const isCounted = counted && statement.name && !/^(SET|SELECT set_config|SELECT pg_)/.test(statement.text);
    return isCounted ? counting(this, counted!, statement) : send.call(this, statement, ...rest);
  } as never;
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  storage = await openPostgres(database.url, { clock, server: true, time: "process" });
}, 60_000);
afterAll(async () => {
  await storage.close();
  await database.drop();
  Client.prototype.query = query;
});

async function payouts(count: number, merchantId: string) {
  const webhookURL = "https://merchant.example/hook";
  await concurrently(count, () => storage.insertDisbursement(aDisbursement(merchantId, { webhookURL })));
  clock.advance(3 * SECOND);
  while ((await storage.settleDue(200)) > 0);
  let delivered = 0;
  for (let claims = await claimAll(storage); claims.length > 0; claims = await claimAll(storage)) {
    const at = clock.now();
    const attempt = { at, sentAt: at, latencyMs: 12, httpStatus: 200 };
    await Promise.all(claims.map((claim) => storage.recordAttempt(claim, attempt, { status: "delivered", step: 1 })));
    delivered += claims.length;
  }
  return delivered;
}

test(
  "a payout and its webhook read as many pages beside many payouts as beside none",
  { timeout: 60_000 },
  async () => {
    const { id } = await addMerchant(storage);
    expect(await payouts(STORED, id)).toBe(STORED);
    counted = new Map();
    expect(await payouts(PAYOUTS, id)).toBe(PAYOUTS);
    const pages = [...counted].map(([sql, read]) => ({ sql: sql.replaceAll(/\s+/g, " "), read }));
    counted = undefined;
    expect(pages.length).toBeGreaterThan(20);
    expect(pages.filter(({ read }) => read > PAGES + PAYOUTS * PAGES_OF_ROW)).toEqual([]);
  },
);
