import type { ClockStore } from "../../domain/storage.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import { settledReport, toCheckout, toDisbursement } from "../record-rows.ts";
import { unnested, type Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { writeEvents } from "./events-postgres.ts";
import { lockMerchants } from "../portable/locked-merchant.ts";

const TABLES = { disbursements: toDisbursement, checkouts: toCheckout } as const;
type Table = keyof typeof TABLES;
const NAMES = Object.keys(TABLES) as Table[];

/** A due record, before its merchant is locked. */
interface Candidate {
  table: Table;
  merchantId: string;
  reference: string;
  /** Real time. */
  dueAt: number;
}

const findDue = (which: string) =>
  `SELECT * FROM (${NAMES.map(
    (table) => `(SELECT '${table}' AS kind, merchant_id, reference, due_at FROM ${table}
      WHERE ${which} due_at <= (SELECT :now) ORDER BY due_at LIMIT $1)`,
  ).join(" UNION ALL ")}) AS found ORDER BY due_at LIMIT $1`;
const FIND_ALL = findDue("");
const FIND_OF_MERCHANT = findDue("merchant_id = $2 AND");

/** Leaves out records that have been settled or postponed since they were found. */
const settleRows = (table: Table) => `UPDATE ${table} r SET status = r.due_status,
    updated_at = greatest(r.updated_at, wanted.at), due_at = NULL, due_status = NULL
  FROM ${unnested(["text", "text", "bigint", "bigint"])} AS wanted (merchant_id, reference, due_at, at)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference AND r.due_at = wanted.due_at RETURNING r.*`;

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
      dueAt: row.due_at as number,
    }));
    // Processes share the work: each leaves out the merchants on which another is working.
    const wait = merchantId !== undefined;
    const options = { repeatable: true, items: candidates.length };
    const settled = await db.transaction((query) => settle(query, candidates, wait), options);
    for (const each of settled) emit("settled", each);
    return settled.length;
  };
}

async function settle(query: Query, candidates: readonly Candidate[], wait: boolean): Promise<RecordSettled[]> {
  const ids = candidates.map(({ merchantId }) => merchantId);
  const merchants = await runIn(query, lockMerchants(ids, "orders", { wait }));
  const mine = candidates.flatMap((candidate) => {
    const merchant = merchants.get(candidate.merchantId);
    if (!merchant) return [];
    const dueAt = sandboxTime(merchant, candidate.dueAt);
    const at = happensAt(merchant, dueAt, merchant.now);
    return [{ ...candidate, merchant, at, delay: at - dueAt }];
  });
  const rows = await Promise.all(
    NAMES.map(async (table) => {
      const wanted = mine.filter((each) => each.table === table);
      if (wanted.length === 0) return [];
      const names = ["merchantId", "reference", "dueAt", "at"] as const;
      const columns = names.map((name) => wanted.map((each) => each[name]));
      return (await query(settleRows(table), columns)).rows.map((row) => TABLES[table](row));
    }),
  );
  const records = new Map(rows.flat().map((record) => [record.reference, record]));
  const settled = mine.flatMap(({ reference, merchant, delay }) => {
    const record = records.get(reference);
    return record ? [{ record, merchant, report: settledReport(record, delay) }] : [];
  });
  await runIn(query, writeEvents(settled));
  return settled.map(({ report }) => report);
}
