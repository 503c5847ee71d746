// Measures creates per second in PostgreSQL with 64 callers: the server's storage, and for comparison a pool of 16
// connections with one statement per create. Needs no network. Starts a PostgreSQL server that waits for the disk,
// unless TEST_DATABASE_URL names one. Usage: node scripts/bench/postgres.ts [SECONDS]
import { randomBytes, randomUUID } from "node:crypto";
import { Pool } from "pg";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createIds } from "../../server/domain/ids.ts";
import type { Disbursement, Draft } from "../../server/domain/records.ts";
import { postgres, postgresServer } from "./databases.ts";
import { openPostgres } from "../../server/storage/postgres/index.ts";

const CALLERS = 64;
const SECONDS = Number(process.argv[2] ?? 5);
const POOL = 16;
const ids = createIds(randomBytes);

function draft(merchantId: string): Draft<Disbursement> {
  const now = Date.now();
  return {
    id: ids.record(now),
    merchantId,
    reference: ids.reference("DSB", now),
    merchantsReference: randomUUID(),
    customer: { phoneNumber: `2257${String(Math.floor(Math.random() * 1e8)).padStart(8, "0")}` },
    amount: 10_000,
    fee: 100,
    country: "CI",
    currency: "XOF",
    status: "pending",
    due: { afterMs: 86_400_000, status: "success" },
  };
}

/** Creates with all callers for some time. Returns the creates per second and the latencies. */
async function measure(create: () => Promise<unknown>, seconds: number) {
  const latencies: number[] = [];
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const caller = async () => {
    while (performance.now() - start < seconds * 1_000) {
      const began = performance.now();
      await create();
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const elapsed = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    "creates/s": Math.round(latencies.length / elapsed),
    "p50 ms": round(sorted[Math.floor(sorted.length * 0.5)]!),
    "p99 ms": round(sorted[Math.floor(sorted.length * 0.99)]!),
    "client CPU µs": Math.round((user + system) / latencies.length),
  };
}

const round = (milliseconds: number) => Math.round(milliseconds * 10) / 10;

const INSERT = `INSERT INTO disbursements (merchant_id, merchants_reference, reference, id, customer_id,
    phone_number, amount, fee, currency, details, status, created_at, updated_at, due_at, due_status)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $11, $12, 'success')
  ON CONFLICT DO NOTHING RETURNING reference`;

function oneStatement(pool: Pool, merchantId: string) {
  return () => {
    const { merchantsReference, reference, id, customer, amount, fee, currency, country } = draft(merchantId);
    const now = Date.now();
    const values = [merchantId, merchantsReference, reference, id, id, customer.phoneNumber, amount, fee];
    return pool.query({
      name: "i",
      text: INSERT,
      values: [...values, currency, JSON.stringify({ country }), now, now + 86_400_000],
    });
  };
}

const server = await postgresServer();
const { url, drop } = await postgres(server.url);
const storage = await openPostgres(url, { clock: createSystemClock(), server: true });
const pool = new Pool({ connectionString: url, max: POOL });
// The connections are cut off when the database is dropped.
pool.on("error", () => undefined);
const merchantId = ids.merchant();
await storage.insertMerchant(
  { id: merchantId, name: "Merchant", createdAt: Date.now() },
  { webhook: "whsec_", customers: "" },
  "command bench@host",
);

const ways = {
  "the server's storage": () => storage.insertDisbursement(draft(merchantId)),
  [`a pool of ${POOL}, one statement each`]: oneStatement(pool, merchantId),
};
const results: Record<string, object> = {};
for (const create of Object.values(ways)) await measure(create, 1);
for (const [way, create] of Object.entries(ways)) results[way] = await measure(create, SECONDS);
console.table(results);

await storage.close();
await pool.end();
await drop();
await server.stop();
