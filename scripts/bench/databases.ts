// Empty databases for benchmarks, and a way to fill them.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";

export interface Database {
  url: string;
  /** Stores this many settled payouts of the only merchant. A server must have created the schema, and have stopped. */
  fill(payouts: number): Promise<void>;
  /**
   * The bytes that this database has written so far: for SQLite, what the process with this id has written; for
   * PostgreSQL, the write-ahead log.
   */
  written(pid: number): Promise<number>;
  drop(): Promise<void>;
}

const COLUMNS = `id, merchant_id, reference, merchants_reference, customer_id, phone_number, amount, fee, currency,
  details, status, created_at, updated_at`;

/** When the first payout was created. */
const FIRST = 1_700_000_000_000;

interface Dialect {
  /** The letter at this place, counted from 0. */
  letter: (letters: string, place: string) => string;
  hex: (digits: number, value: string) => string;
  /** The value as eight decimal digits. */
  decimal: (value: string) => string;
  id: (text: string) => string;
}

const SQLITE: Dialect = {
  letter: (letters, place) => `substr('${letters}', ${place} + 1, 1)`,
  hex: (digits, value) => `printf('%0${digits}x', CAST(${value} AS INTEGER))`,
  decimal: (value) => `printf('%08d', ${value})`,
  id: (text) => text,
};

const POSTGRES: Dialect = {
  letter: (letters, place) => `substr('${letters}', (${place})::int + 1, 1)`,
  hex: (digits, value) => `lpad(to_hex((${value})::bigint), ${digits}, '0')`,
  decimal: (value) => `lpad((${value})::text, 8, '0')`,
  id: (text) => `(${text})::uuid`,
};

/** The phone numbers of 100,000 recipients, in a random order. */
const phone = (of: Dialect) => `'22507' || ${of.decimal("i % 100000 * 7919 % 100000 * 1000 + 473")}`;

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The time in a reference of the service (D19). */
const timeText = (of: Dialect, time: string) =>
  [30, 25, 20, 15, 10, 5, 0].map((bits) => of.letter(LETTERS, `((${time}) >> ${bits}) % 32`)).join(" || ");

/**
 * The merchant's references and the phone numbers are spread over their whole index like random values; the service's
 * references have the time, a millisecond apart until now.
 */
const values = (count: number, of: Dialect) =>
  `${of.id(`'01900000-0000-7000-8000-' || ${of.hex(12, "i")}`)}, (SELECT id FROM merchants), 'DSB' || ${timeText(of, `${Date.now() - count} + i`)} || ${of.hex(17, "i")},
   ${of.hex(8, `i * ${0xffffffff / count}`)} || '-0000-4000-8000-' || ${of.hex(12, "i")}, 'customer', ${phone(of)}, 10000,
   100, 'XOF', '{"country":"CI"}', 'success', ${FIRST} + i, ${FIRST + 2_000} + i`;

export async function sqlite(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "bench-"));
  const file = join(folder, "server.db");
  return {
    url: `sqlite:${file}`,
    async fill(payouts) {
      const db = new DatabaseSync(file);
      db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ${payouts})
        INSERT INTO disbursements (${COLUMNS}) SELECT ${values(payouts, SQLITE)} FROM n; PRAGMA wal_checkpoint(TRUNCATE)`);
      db.close();
      // Flush now, so that nothing is written to the disk during the measurement.
      const descriptor = openSync(file, "r+");
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    written: async (pid) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))![1]),
    drop: () => rm(folder, { recursive: true }),
  };
}

interface PostgresServer {
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server that waits for the disk, unless TEST_DATABASE_URL names one.
 * @param settings such as `shared_buffers=1GB`
 */
export async function postgresServer(settings: readonly string[] = []): Promise<PostgresServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { url: given, stop: async () => undefined };
  const script = new URL("../../server/testing/postgres-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, "durable", ...settings], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await once(child.stdout, "data");
  return {
    url: String(url).trim(),
    async stop() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new Client(url);
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

/** @param server the URL of any database on the server */
export async function postgres(server: string): Promise<Database> {
  const name = `bench_${randomUUID().replaceAll("-", "")}`;
  await run(server, `CREATE DATABASE ${name}`);
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  return {
    url,
    fill: (payouts) =>
      run(
        url,
        `INSERT INTO disbursements (${COLUMNS}) SELECT ${values(payouts, POSTGRES)} FROM generate_series(0, ${payouts - 1}) AS i`,
        "VACUUM ANALYZE disbursements",
        "CHECKPOINT",
      ),
    async written() {
      const client = new Client(url);
      await client.connect();
      const { rows } = await client.query("SELECT pg_current_wal_lsn() - '0/0' AS bytes");
      await client.end();
      return Number(rows[0].bytes);
    },
    drop: () => run(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}
