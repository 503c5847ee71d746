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
import { cpuMsBelow } from "./target.ts";

export interface Database {
  url: string;
  /** Stores this many settled payouts of the only merchant. A server must have created the schema, and have stopped. */
  fill(payouts: number): Promise<void>;
  /**
   * Stores a webhook and an attempt for each payout that `fill` has stored. The server has given up one in 25 of these
   * webhooks.
   */
  fillWebhooks(): Promise<void>;
  /**
   * The bytes that this database has written so far: for SQLite, what the process with this id has written; for
   * PostgreSQL, the write-ahead log.
   */
  written(pid: number): Promise<number>;
  /** Runs statements that both databases understand. */
  run(...statements: string[]): Promise<void>;
  drop(): Promise<void>;
}

const COLUMNS = `id, merchant_id, reference, merchants_reference, customer_id, phone_number, amount, fee, currency,
  details, status, created_at, updated_at`;

/** When the first payout was created. */
export const FIRST = 1_700_000_000_000;

interface Dialect {
  /** The letter at this place, counted from 0. */
  letter: (letters: string, place: string) => string;
  hex: (digits: number, value: string) => string;
  /** The value as eight decimal digits. */
  decimal: (value: string) => string;
  merchant: string;
  id: string;
}

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
  `${of.id}, ${of.merchant}, 'DSB' || ${timeText(of, `${Date.now() - count} + i`)} || ${of.hex(17, "i")},
   ${of.hex(8, `i * ${0xffffffff / count}`)} || '-0000-4000-8000-' || ${of.hex(12, "i")}, 'customer', ${phone(of)}, 10000,
   100, 'XOF', '{"country":"CI"}', 'success', ${FIRST} + i, ${FIRST + 2_000} + i`;

/** The statements of `fillWebhooks`. Positions are in the order of the payouts, which are a millisecond apart. */
const WEBHOOKS = [
  `INSERT INTO events (id, merchant_id, seq, type, reference, created_at, body, url, host, status, step, attempts, attempted_real)
   SELECT 'msg_' || replace(CAST(id AS text), '-', ''), merchant_id, i,
     CASE WHEN i % 10 = 0 THEN 'disbursement.failed' ELSE 'disbursement.completed' END, reference, updated_at,
     '{"event":"disbursement.completed","data":{"reference":"' || reference || '","note":"${"x".repeat(400)}"}}',
     'https://receiver-' || i % 20 || '.example/webhooks', 'receiver-' || i % 20 || '.example',
     CASE i % 50 WHEN 0 THEN 'exhausted' WHEN 1 THEN 'ended' ELSE 'delivered' END, 1,
     '[{"number":1,"at":' || updated_at || ',"sentAt":' || updated_at || ',"latencyMs":42,"httpStatus":' ||
       CASE WHEN i % 50 < 2 THEN 410 ELSE 200 END || ',"responseBody":"ok","token":1}]', updated_at
   FROM (SELECT *, created_at - ${FIRST} + 1 AS i FROM disbursements ORDER BY created_at) AS payouts`,
];

const sqliteHex = (digits: number, value: string) => `printf('%0${digits}x', CAST(${value} AS INTEGER))`;
const postgresHex = (digits: number, value: string) => `lpad(to_hex((${value})::bigint), ${digits}, '0')`;

const postgresLetter = (letters: string, place: string) => `substr('${letters}', (${place})::int + 1, 1)`;
const postgresDecimal = (value: string) => `lpad((${value})::text, 8, '0')`;

export async function sqlite(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "bench-"));
  const file = join(folder, "server.db");
  const of = {
    letter: (letters: string, place: string) => `substr('${letters}', ${place} + 1, 1)`,
    hex: sqliteHex,
    decimal: (value: string) => `printf('%08d', ${value})`,
    merchant: "(SELECT id FROM merchants)",
    id: `'01900000-0000-7000-8000-' || ${sqliteHex(12, "i")}`,
  };
  return {
    url: `sqlite:${file}`,
    async fill(payouts) {
      const db = new DatabaseSync(file);
      db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ${payouts})
        INSERT INTO disbursements (${COLUMNS}) SELECT ${values(payouts, of)} FROM n; PRAGMA wal_checkpoint(TRUNCATE)`);
      db.close();
      // Flush now, so that nothing is written to the disk during the measurement.
      const descriptor = openSync(file, "r+");
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    async fillWebhooks() {
      const db = new DatabaseSync(file);
      db.exec(["PRAGMA synchronous = OFF", ...WEBHOOKS, "PRAGMA wal_checkpoint(TRUNCATE)"].join(";"));
      db.close();
    },
    async run(...statements) {
      const db = new DatabaseSync(file);
      for (const sql of statements) db.exec(sql);
      db.close();
    },
    written: async (pid) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))![1]),
    drop: () => rm(folder, { recursive: true }),
  };
}

export interface PostgresServer {
  url: string;
  /** CPU time that the server's processes have used so far, in milliseconds; NaN if the server runs elsewhere. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server that waits for the disk, unless TEST_DATABASE_URL names one.
 * @param settings such as `shared_buffers=1GB`
 */
export async function postgresServer(settings: readonly string[] = []): Promise<PostgresServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { url: given, cpuMs: () => NaN, stop: async () => undefined };
  const script = new URL("../../server/testing/postgres-process.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, "durable", ...settings], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await once(child.stdout, "data");
  return {
    url: String(url).trim(),
    cpuMs: () => cpuMsBelow(child.pid!),
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
  const id = `('01900000-0000-7000-8000-' || ${postgresHex(12, "i")})::uuid`;
  const of = {
    letter: postgresLetter,
    hex: postgresHex,
    decimal: postgresDecimal,
    merchant: "(SELECT id FROM merchants)",
    id,
  };
  return {
    url,
    fill: (payouts) =>
      run(
        url,
        `INSERT INTO disbursements (${COLUMNS}) SELECT ${values(payouts, of)} FROM generate_series(0, ${payouts - 1}) AS i`,
        "VACUUM ANALYZE disbursements",
        "CHECKPOINT",
      ),
    fillWebhooks: () =>
      run(
        url,
        ...WEBHOOKS,
        "UPDATE merchants SET last_event = (SELECT count(*) FROM events)",
        "VACUUM ANALYZE",
        "CHECKPOINT",
      ),
    run: (...statements) => run(url, ...statements),
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
