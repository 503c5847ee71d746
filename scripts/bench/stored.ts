// Measures creates and verifies on both storages, with many stored payouts: throughput, latency, the server's CPU time,
// how long it takes to be ready, and its memory. The servers with different numbers of payouts take turns in each round.
// Usage: node scripts/bench/stored.ts [--rounds N] [--storage sqlite|postgres] [--postgres SETTING=VALUE]… [PAYOUTS…]
import { randomBytes, randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createIds } from "../../server/domain/ids.ts";
import { startOwnPostgres } from "../../server/testing/own-postgres.ts";
import { connected, DATABASES } from "../lab/database.ts";
import { load, median, medianRatio, oneReference, payout, verify, type Measured } from "./load.ts";
import { startServer } from "./target.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    storage: { type: "string" },
    postgres: { type: "string", multiple: true, default: [] },
  },
});
if (![undefined, "sqlite", "postgres"].includes(values.storage)) throw new Error("--storage is sqlite or postgres");
const ROUNDS = Number(values.rounds);
const STORED = positionals.length > 0 ? positionals.map(Number) : [1_000, 1_000_000];
const REQUESTS = 20_000;

/** An empty database, and what a measurement asks of it. */
type StoredDatabase = Awaited<ReturnType<typeof sqlite>>;

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

async function sqlite() {
  const { url, close } = await DATABASES.sqlite();
  const file = url.slice("sqlite:".length);
  return {
    url,
    /** Stores this many settled payouts of the only merchant. A server must have created the schema, and have stopped. */
    async fill(payouts: number) {
      const db = new DatabaseSync(file);
      db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN");
      const { id } = db.prepare("SELECT id FROM merchants").get() as { id: string };
      const named = COLUMNS.map((column) => `:${column}`);
      const insert = db.prepare(`INSERT INTO disbursements (${COLUMNS.join()}) VALUES (${named.join()})`);
      for (const group of payoutsOf(payouts, id)) for (const row of group) insert.run(row);
      db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
      db.close();
      // Flush now, so that nothing is written to the disk during the measurement.
      const descriptor = openSync(file, "r+");
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    /** The bytes written so far: by the process with this id, or for PostgreSQL to the write-ahead log. */
    written: async (pid: number) => Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))![1]),
    close,
  };
}

/**
 * Starts a PostgreSQL server, whose commits wait for the disk.
 * @param settings such as `shared_buffers=1GB`
 */
async function postgres(settings: readonly string[]): Promise<StoredDatabase> {
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

/** Starts a server with this many stored payouts. */
async function start(database: StoredDatabase, stored: number) {
  await (await startServer(database)).stop();
  await database.fill(stored);
  const server = await startServer(database);
  await sleep(2_000);
  const { now: rest } = server.memory();
  const [creates, verifies]: Measured[][] = [[], []];
  return { stored, database, server, rest, reference: await oneReference(server), creates, verifies, written: 0 };
}

const columns = ({ perSecond, cpuPerRequest, p50, p99 }: Measured) => ({
  "per s": Math.round(perSecond),
  "CPU µs": Math.round(cpuPerRequest),
  "p50 ms": Number(p50.toFixed(1)),
  "p99 ms": Number(p99.toFixed(1)),
});

async function measure(storage: string, create: () => Promise<StoredDatabase>) {
  const subjects: Awaited<ReturnType<typeof start>>[] = [];
  for (const stored of STORED) subjects.push(await start(await create(), stored));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of subjects) {
      const { database, server, reference } = subject;
      const before = await database.written(server.pid);
      const creates = await load(server, REQUESTS, payout());
      const written = (await database.written(server.pid)) - before;
      const verifies = await load(server, REQUESTS, verify(reference));
      if (round === 0) continue; // The warm-up.
      subject.creates!.push(creates);
      subject.verifies!.push(verifies);
      subject.written += written;
    }
  }
  const rows = subjects.map(({ stored, ...subject }) => ({ label: `${storage}, ${stored}`, ...subject }));
  console.table(
    rows.map(({ label, creates: measured, written }) => ({
      creates: label,
      ...columns(median(measured!)),
      "KiB written": Number((written / 1_024 / (ROUNDS * REQUESTS)).toFixed(1)),
      "ratio per s": Number(medianRatio(measured!, rows[0]!.creates!, "perSecond").toFixed(2)),
      "ratio p99": Number(medianRatio(measured!, rows[0]!.creates!, "p99").toFixed(2)),
      "per s in each round": measured!.map(({ perSecond }) => perSecond.toFixed(0)).join(" "),
    })),
  );
  console.table(
    rows.map(({ label, verifies: measured, server, rest }) => ({
      verifies: label,
      ...columns(median(measured!)),
      "ready ms": Math.round(server.readyMs),
      "MB at rest": Math.round(rest),
      "MB at most": Math.round(server.memory().most),
    })),
  );
  for (const { server, database } of subjects) {
    await server.stop();
    await database.close();
  }
}

console.log(`Median of ${ROUNDS} rounds of ${REQUESTS} requests over 64 connections, by the number of stored payouts. Ratios are to
the first row. References are random, and each payout is to one of 100,000 phone numbers.`);
if (values.storage !== "postgres") await measure("SQLite", sqlite);
if (values.storage !== "sqlite") await measure("PostgreSQL", () => postgres(values.postgres));
