import type { ClockStore } from "../../domain/clock-store.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import { settledReport, toCheckout, toDisbursement } from "../record-rows.ts";
import type { Row } from "../rows.ts";
import type { Context } from "../sqlite/context.ts";

const RECORDS = [
  { table: "disbursements", toRecord: toDisbursement },
  { table: "checkouts", toRecord: toCheckout },
] as const;

/** Gives due records their final status and writes their events. */
export function settler(context: Context): ClockStore["settleDue"] {
  const { writeSoon, emit } = context;
  const { anyDue, settle, settleOf } = settlement(context);
  return async (limit, merchantId) => {
    // Usually nothing is due. Avoid a transaction then.
    if (!anyDue()) return 0;
    const settled = await writeSoon(() => (merchantId === undefined ? settle(limit) : settleOf(merchantId, limit)));
    for (const each of settled) if (each) emit("settled", each);
    return settled.length;
  };
}

function settlement({ db, now, merchantOf, writeEvent }: Context) {
  const statements = RECORDS.map(({ table, toRecord }) => ({
    toRecord,
    any: db.prepare(`SELECT 1 FROM ${table} WHERE due_real <= ? LIMIT 1`),
    select: db.prepare(
      `SELECT rowid, merchant_id, epoch, due_at, due_real FROM ${table} WHERE due_real <= ? ORDER BY due_real LIMIT ?`,
    ),
    selectOf: db.prepare(
      `SELECT rowid, merchant_id, epoch, due_at, due_real FROM ${table}
       WHERE merchant_id = ? AND epoch = ? AND due_at <= ? ORDER BY due_at LIMIT ?`,
    ),
    settle: db.prepare(
      `UPDATE ${table} SET status = due_status, updated_at = max(updated_at, ?), due_at = NULL, due_real = NULL,
         due_status = NULL WHERE rowid = ?`,
    ),
    // Faster than RETURNING, for which SQLite fills a temporary table.
    selectOne: db.prepare(`SELECT * FROM ${table} WHERE rowid = ?`),
    forget: db.prepare(`UPDATE ${table} SET due_at = NULL, due_real = NULL, due_status = NULL WHERE rowid = ?`),
  }));
  type Statements = (typeof statements)[number];

  /** Returns what to report, unless a reset has deleted the record. */
  function settleRow({ settle, selectOne, forget, toRecord }: Statements, row: Row): RecordSettled | undefined {
    const merchant = merchantOf(row.merchant_id as string);
    // A reset has deleted this record; only its row is left.
    if (merchant?.epoch !== row.epoch) {
      forget.run(row.rowid!);
      return undefined;
    }
    const dueAt = row.due_at as number;
    const at = happensAt(merchant!, dueAt, now());
    settle.run(at, row.rowid!);
    const record = toRecord(selectOne.get(row.rowid!)!);
    writeEvent({ record, merchant: merchant! });
    return settledReport(record, at - dueAt);
  }

  /** Settles rows of all tables in the order in which they fell due. */
  function settleRows(find: (statements: Statements) => Row[], order: "due_at" | "due_real", limit: number) {
    const found = statements
      .flatMap((each) => find(each).map((row) => ({ each, row })))
      .toSorted((a, b) => (a.row[order] as number) - (b.row[order] as number))
      .slice(0, limit);
    return found.map(({ each, row }) => settleRow(each, row));
  }

  return {
    anyDue: () => statements.some(({ any }) => any.get(now()) !== undefined),
    settle: (limit: number) => settleRows(({ select }) => select.all(now(), limit), "due_real", limit),
    settleOf(merchantId: string, limit: number) {
      const merchant = merchantOf(merchantId)!;
      const until = sandboxTime(merchant, now());
      const find = ({ selectOf }: Statements) => selectOf.all(merchantId, merchant.epoch, until, limit);
      return settleRows(find, "due_at", limit);
    },
  };
}
