// Empty databases for benchmarks, and a way to fill them.
import { randomBytes, randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { createIds } from "../../server/domain/ids.ts";
import { startOwnPostgres } from "../../server/testing/own-postgres.ts";
import { connected, DATABASES } from "../lab/database.ts";

export interface StoredDatabase {
  url: string;
  /** Stores this many settled payouts of the only merchant. A server must have created the schema, and have stopped. */
  fill(payouts: number): Promise<void>;
  /**
   * The bytes that this database has written so far: for SQLite, what the process with this id has written; for
   * PostgreSQL, the write-ahead log.
   */
  written(pid: number): Promise<number>;
  close(): Promise<void>;
}

const ids = createIds(randomBytes);
/** How many rows are made at a time. PostgreSQL stores them with one statement. */
const AT_ONCE = 10_000;

/**
 * A payout to one of 100,000 recipients. The merchant's references are random. The service's references contain the time
 * of the payout: one payout per millisecond, the last one now.
 */
function payoutOf(index: number, count: number, merchant: string) {
  const at = Date.now() - count + index;
  return {
    id: ids.record(at),
    merchant_id: merchant,
    reference: ids.reference("DSB", at),
    merchants_reference: randomUUID(),
    customer_id: "customer",
    phone_number: `22507${String((index * 7_919) % 100_000).padStart(5, "0")}473`,
    amount: 10_000,
    fee: 100,
    currency: "XOF",
    details: '{"country":"CI"}',
    status: "success",
    created_at: at - 2_000,
    updated_at: at,
  };
}

/** The payouts in groups of `AT_ONCE`. */
function* payoutsOf(count: number, merchant: string) {
  for (let first = 0; first < count; first += AT_ONCE)
    yield Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) =>
      payoutOf(first + index, count, merchant),
    );
}

const COLUMNS = Object.keys(payoutOf(0, 0, ""));

export async function sqlite(): Promise<StoredDatabase> {
  const { url, close } = await DATABASES.sqlite();
  const file = url.slice("sqlite:".length);
  return {
    url,
    async fill(payouts) {
      const db = new DatabaseSync(file);
      db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN");
      const { id } = db.prepare("SELECT id FROM merchants").get() as { id: string };
      const values = COLUMNS.map((column) => `:${column}`);
      const insert = db.prepare(`INSERT INTO disbursements (${COLUMNS.join()}) VALUES (${values.join()})`);
      for (const group of payoutsOf(payouts, id)) for (const payout of group) insert.run(payout);
      db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
      db.close();
      // Flush now, so that nothing is written to the disk during the measurement.
      const descriptor = openSync(file, "r+");
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    written: async (pid) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))![1]),
    close,
  };
}

/**
 * Starts a PostgreSQL server, whose commits wait for the disk.
 * @param settings such as `shared_buffers=1GB`
 */
export async function postgres(settings: readonly string[]): Promise<StoredDatabase> {
  const { url, run, close } = await startOwnPostgres("durable", settings);
  return {
    url,
    fill: (payouts) =>
      connected(url, async (client) => {
        const { rows } = await client.query("SELECT id FROM merchants");
        const insert = `INSERT INTO disbursements (${COLUMNS.join()})
          SELECT ${COLUMNS.join()} FROM json_populate_recordset(NULL::disbursements, $1)`;
        for (const group of payoutsOf(payouts, rows[0].id)) await client.query(insert, [JSON.stringify(group)]);
        await client.query("VACUUM ANALYZE disbursements");
        await client.query("CHECKPOINT");
      }),
    async written() {
      const [row] = await run("SELECT pg_current_wal_lsn() - '0/0' AS bytes");
      return Number(row!.bytes);
    },
    close,
  };
}
