import type { ClockStore } from "../../domain/storage.ts";
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
export function settler({ db, now, merchantOf, writeEvent, writeSoon, emit }: Context): ClockStore["settleDue"] {
  const statements = RECORDS.map(({ table, toRecord }) => {
    const select = (which: string) =>
      db.prepare(`SELECT rowid, merchant_id, due_at FROM ${table} WHERE ${which} due_at <= ? ORDER BY due_at LIMIT ?`);
    return {
      toRecord,
      any: db.prepare(`SELECT 1 FROM ${table} WHERE due_at <= ? LIMIT 1`),
      select: select(""),
      selectOf: select("merchant_id = ? AND"),
      settle: db.prepare(
        `UPDATE ${table} SET status = due_status, updated_at = max(updated_at, ?), due_at = NULL, due_status = NULL
         WHERE rowid = ?`,
      ),
      // Faster than RETURNING, for which SQLite fills a temporary table.
      selectOne: db.prepare(`SELECT * FROM ${table} WHERE rowid = ?`),
    };
  });
  type Statements = (typeof statements)[number];

  function settleRow({ settle, selectOne, toRecord }: Statements, row: Row): RecordSettled {
    const merchant = merchantOf(row.merchant_id as string)!;
    const dueAt = sandboxTime(merchant, row.due_at as number);
    const at = happensAt(merchant, dueAt, now());
    settle.run(at, row.rowid!);
    const record = toRecord(selectOne.get(row.rowid!)!);
    writeEvent({ record, merchant });
    return settledReport(record, at - dueAt);
  }

  /** Settles rows of both tables in the order in which they fell due. */
  function settleAll(limit: number, merchantId: string | undefined): RecordSettled[] {
    const found = statements.flatMap((each) => {
      const rows =
        merchantId === undefined ? each.select.all(now(), limit) : each.selectOf.all(merchantId, now(), limit);
      return rows.map((row) => ({ each, row }));
    });
    return found
      .toSorted((a, b) => (a.row.due_at as number) - (b.row.due_at as number))
      .slice(0, limit)
      .map(({ each, row }) => settleRow(each, row));
  }

  return async (limit, merchantId) => {
    // Usually nothing is due. Avoid a transaction then.
    if (statements.every(({ any }) => any.get(now()) === undefined)) return 0;
    const settled = await writeSoon(() => settleAll(limit, merchantId));
    for (const each of settled) emit("settled", each);
    return settled.length;
  };
}
