import type { ClockStore } from "../../domain/clock-store.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { settledReport, toCheckout, toDisbursement } from "../record-rows.ts";
import type { Row } from "../rows.ts";
import { unnested, type Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { writeEvents } from "./events-postgres.ts";
import { lockMerchants, type LockedMerchant } from "../portable/locked-merchant.ts";

const TABLES = { disbursements: toDisbursement, checkouts: toCheckout } as const;
type Table = keyof typeof TABLES;
type Merchants = ReadonlyMap<string, LockedMerchant>;
const NAMES = Object.keys(TABLES) as Table[];

/** A due record, before its merchant is locked. */
interface Candidate {
  table: Table;
  merchantId: string;
  reference: string;
}

const COLUMNS = "merchant_id, reference";
const FIND_ALL = `SELECT * FROM (${NAMES.map(
  (table) => `(SELECT '${table}' AS kind, ${COLUMNS}, due_real AS due FROM ${table} WHERE due_real <= (SELECT :now)
    ORDER BY due_real LIMIT $1)`,
).join(" UNION ALL ")}) AS found ORDER BY due LIMIT $1`;
const FIND_OF_MERCHANT = `SELECT * FROM (${NAMES.map(
  (table) => `(SELECT '${table}' AS kind, ${COLUMNS}, due_at AS due FROM ${table} WHERE merchant_id = $2
    AND epoch = (SELECT epoch FROM merchants WHERE id = $2)
    AND due_at <= (SELECT :now + clock_offset FROM merchants WHERE id = $2) ORDER BY due_at LIMIT $1)`,
).join(" UNION ALL ")}) AS found ORDER BY due LIMIT $1`;

/**
 * The merchant is locked, so no other transaction settles the records. SKIP LOCKED leaves out a checkout that is being
 * paid.
 */
const lockRows = (table: Table) => `SELECT r.* FROM ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  CROSS JOIN LATERAL (SELECT merchant_id, reference, epoch, due_at, due_real FROM ${table} r
    WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference AND r.due_at IS NOT NULL
    FOR UPDATE SKIP LOCKED) AS r`;
const settleRows = (table: Table) => `UPDATE ${table} r SET status = r.due_status,
    updated_at = greatest(r.updated_at, wanted.at), due_at = NULL, due_real = NULL, due_status = NULL
  FROM ${unnested(["text", "text", "bigint"])} AS wanted (merchant_id, reference, at)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference RETURNING r.*`;
const forgetRows = (table: Table) => `UPDATE ${table} r SET due_at = NULL, due_real = NULL, due_status = NULL
  FROM ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference`;

/** Gives due records their final status and writes their events. */
export function settler({ db, emit }: Context): ClockStore["settleDue"] {
  return async (limit, merchantId) => {
    const found =
      merchantId === undefined
        ? await db.read(FIND_ALL, [limit])
        : await db.read(FIND_OF_MERCHANT, [limit, merchantId]);
    // Usually nothing is due. Avoid a transaction then.
    if (found.count === 0) return 0;
    const candidates = found.rows.map((row) => ({
      table: row.kind as Table,
      merchantId: row.merchant_id as string,
      reference: row.reference as string,
    }));
    // Processes share the work: each leaves out the merchants on which another is working.
    const wait = merchantId !== undefined;
    const options = { repeatable: true, items: candidates.length };
    const { count, settled } = await db.transaction((query) => settle(query, candidates, wait), options);
    for (const each of settled) emit("settled", each);
    return count;
  };
}

interface Settled {
  /** Includes records that a reset has deleted. */
  count: number;
  settled: RecordSettled[];
}

async function settle(query: Query, candidates: readonly Candidate[], wait: boolean): Promise<Settled> {
  const ids = candidates.map(({ merchantId }) => merchantId);
  const merchants = await runIn(query, lockMerchants(ids, "orders", { wait }));
  const mine = candidates.filter(({ merchantId }) => merchants.has(merchantId));
  if (mine.length === 0) return { count: 0, settled: [] };
  const locked = await Promise.all(NAMES.map((table) => lockDue(query, table, mine, merchants)));
  const settled = await Promise.all(NAMES.map((table, index) => settleTable(query, table, locked[index]!, merchants)));

  const records = new Map(settled.flat().map((record) => [record.reference, record]));
  const inOrder = mine.flatMap(({ reference, merchantId }) => {
    const record = records.get(reference);
    return record ? [{ record, merchant: merchants.get(merchantId)! }] : [];
  });
  await runIn(query, writeEvents(inOrder));
  const reports = locked.flat().flatMap((row) => {
    const record = records.get(row.reference as string);
    return record ? [settledReport(record, delayOf(row, merchants))] : [];
  });
  return { count: locked.flat().length, settled: reports };
}

async function lockDue(
  query: Query,
  table: Table,
  candidates: readonly Candidate[],
  merchants: Merchants,
): Promise<Row[]> {
  const wanted = candidates.filter((each) => each.table === table);
  if (wanted.length === 0) return [];
  const columns = [wanted.map(({ merchantId }) => merchantId), wanted.map(({ reference }) => reference)];
  const { rows } = await query(lockRows(table), columns);
  // A payment may have postponed the record since it was found.
  return rows.filter((row) => {
    const merchant = merchants.get(row.merchant_id as string)!;
    return (row.due_real as number) <= merchant.now || (row.due_at as number) <= sandboxTime(merchant, merchant.now);
  });
}

/** Returns how long after it was due a record is settled. */
function delayOf(row: Row, merchants: Merchants): number {
  const merchant = merchants.get(row.merchant_id as string)!;
  const dueAt = row.due_at as number;
  return happensAt(merchant, dueAt, merchant.now) - dueAt;
}

const keysOf = (rows: readonly Row[]) => [rows.map((row) => row.merchant_id), rows.map((row) => row.reference)];

async function settleTable(
  query: Query,
  table: Table,
  rows: readonly Row[],
  merchants: Merchants,
): Promise<(Disbursement | Checkout)[]> {
  const merchantOf = (row: Row) => merchants.get(row.merchant_id as string)!;
  // A reset has deleted the records of earlier epochs; only their rows are left.
  const [current, old] = [true, false].map((is) => rows.filter((row) => (row.epoch === merchantOf(row).epoch) === is));
  if (old!.length > 0) await query(forgetRows(table), keysOf(old!));
  if (current!.length === 0) return [];
  const times = current!.map((row) => happensAt(merchantOf(row), row.due_at as number, merchantOf(row).now));
  return (await query(settleRows(table), [...keysOf(current!), times])).rows.map((row) => TABLES[table](row));
}
