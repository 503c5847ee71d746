// Measures how long background work blocks the event loop. Measures polls for due work that find nothing (looks), a
// clock move, a reset, and the clean-up after a reset. Needs no network.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSystemClock } from "../../server/domain/clock.ts";
import type { Storage } from "../../server/domain/storage.ts";
import { openSqlite } from "../../server/storage/sqlite/index.ts";

const LOOKS = 1_000;
/** The number of first looks that are not counted, because Node still compiles the code. */
const WARM_UP = 100;
const MERCHANTS = 100;
const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), "looks-"));

const open = (file: string): Storage => openSqlite(join(folder, file), { clock: createSystemClock(), server: true });

const numbers = (count: number) => `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ${count})`;

/**
 * Creates a database of pending payouts. The first `retries` payouts have a webhook to retry, each on a different host.
 * Nothing is due before tomorrow.
 */
async function fill(
  file: string,
  { records, retries, merchants }: Record<"records" | "retries" | "merchants", number>,
) {
  await open(file).close();
  const db = new DatabaseSync(join(folder, file));
  const due = Date.now() + DAY_MS;
  db.exec(`PRAGMA synchronous = OFF; BEGIN;
    ${numbers(merchants)} INSERT INTO merchants (id, name, created_at, webhook_secrets)
      SELECT 'merchant-' || i, 'Merchant', 0, 'whsec_' FROM n;
    ${numbers(records)} INSERT INTO disbursements (id, merchant_id, reference, merchants_reference, customer_id,
        phone_number, amount, fee, currency, details, status, created_at, updated_at, due_at, due_status)
      SELECT 'record-' || i, 'merchant-' || (i % ${merchants}), printf('DSB%021d', i), 'payout-' || i, 'customer',
        '2257038102473', 10000, 100, 'XOF', '{"country":"CI"}', 'pending', 0, 0, ${due} + i, 'success' FROM n;
    ${numbers(retries)} INSERT INTO events (id, merchant_id, type, reference, created_at, body, url, host, status,
        next_attempt_at)
      SELECT 'msg_' || i, 'merchant-' || (i % ${merchants}), 'disbursement.completed', printf('DSB%021d', i), 0, '{}',
        'https://' || i || '.example/', i || '.example', 'pending', ${due} + i FROM n;
    COMMIT;`);
  db.close();
}

/**
 * The elapsed time and the CPU time of one piece of work, in ms. CPU time excludes waits for the disk and other
 * processes.
 */
interface Cost {
  elapsed: number;
  cpu: number;
}

/** Starts a measurement. Each call of the returned function returns the cost since the previous call. */
function stopwatch(): () => Cost {
  let [last, lastCpu] = [performance.now(), process.threadCpuUsage()];
  return () => {
    const [now, { user, system }] = [performance.now(), process.threadCpuUsage(lastCpu)];
    const cost = { elapsed: now - last, cpu: (user + system) / 1_000 };
    [last, lastCpu] = [performance.now(), process.threadCpuUsage()];
    return cost;
  };
}

/** Returns the costs of many looks. A look is one poll of the workers for due work, here when nothing is due. */
async function looks(file: string): Promise<Cost[]> {
  const storage = open(file);
  const costs: Cost[] = [];
  const lap = stopwatch();
  for (let look = 0; look < WARM_UP + LOOKS; look += 1) {
    const found = (await storage.settleDue(500)) + (await storage.promoteDue(1_000));
    const lanes = await storage.readyLanes({ limit: 64 });
    costs.push(lap());
    if (found + lanes.length > 0) throw new Error("a look found work that is not due");
  }
  await storage.close();
  return costs.slice(WARM_UP);
}

/** Returns the cost of each turn of the event loop during `work`. Other work must wait until a turn ends. */
async function turns(work: () => Promise<unknown>): Promise<Cost[]> {
  const costs: Cost[] = [];
  const lap = stopwatch();
  let isDone = false;
  const turn = () => {
    costs.push(lap());
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return costs;
}

async function blocks(file: string): Promise<Record<string, Cost[]>> {
  const storage = open(file);
  const merchant = "merchant-0";
  const actor = "command bench@host";
  const move = await turns(() => storage.moveClock(merchant, { by: 1_000 }, actor));
  const reset = await turns(() => storage.reset(merchant, actor));
  const prune = await turns(async () => {
    while ((await storage.prune(1_000)) > 0);
  });
  await storage.close();
  return { "clock move": move, reset, "clean-up after a reset": prune };
}

/** Prints a row and returns the median of the elapsed times. */
function print(name: string, costs: Cost[]): number {
  const ranked = (kind: keyof Cost) => costs.map((cost) => cost[kind]).toSorted((a, b) => a - b);
  const [elapsed, cpu] = [ranked("elapsed"), ranked("cpu")];
  const median = elapsed[Math.floor(costs.length / 2)]!;
  const columns = [median, elapsed[Math.ceil(costs.length * 0.99) - 1]!, elapsed.at(-1)!, cpu.at(-1)!];
  console.log(name.padEnd(28), ...columns.map((value) => value.toFixed(3).padStart(10)));
  return median;
}

const header = (title: string) =>
  console.log(title.padEnd(28), ...["p50", "p99", "max", "max of CPU"].map((column) => column.padStart(10)));

try {
  header("a look, ms");
  await fill("few.db", { records: 1_000, retries: 100, merchants: MERCHANTS });
  const few = print("  1,000 records", await looks("few.db"));
  await fill("many.db", { records: 1_000_000, retries: 100_000, merchants: MERCHANTS });
  const many = print("  1,000,000 records", await looks("many.db"));
  console.log(`  ratio of the medians: ${(many / few).toFixed(2)}`);

  console.log();
  header("event loop blocked, ms");
  // The merchant whose clock moves has 50,000 pending payouts.
  await fill("blocks.db", { records: 50_000, retries: 0, merchants: 1 });
  for (const [name, costs] of Object.entries(await blocks("blocks.db"))) print(`  ${name}`, costs);
} finally {
  rmSync(folder, { recursive: true });
}
