import type { FinalStatus, Timeline } from "../../domain/storage.ts";
import type { Context, Row } from "./context.ts";
import { toCheckout, toDisbursement } from "./records.ts";

const kinds = [
  { kind: "disbursement", table: "disbursements", toRecord: toDisbursement },
  { kind: "checkout", table: "checkouts", toRecord: toCheckout },
] as const;

export function timeline({ db, write, events, keys }: Context): Timeline {
  // Merchants first, so that each one's due records are one stretch of an index.
  const due = kinds.map(({ kind, table, toRecord }) => ({
    kind,
    toRecord,
    select: db.prepare(
      `SELECT d.rowid, d.due_status, :now + m.clock_offset AS at FROM merchants m CROSS JOIN ${table} d
       WHERE d.merchant_id = m.id AND d.due_at <= :now + m.clock_offset AND (:merchant IS NULL OR m.id = :merchant)
       LIMIT :limit`,
    ),
    settle: db.prepare(
      `UPDATE ${table} SET status = due_status, updated_at = max(created_at, :at), due_at = NULL, due_status = NULL
       WHERE rowid = :rowid AND status = 'pending' RETURNING *`,
    ),
  }));
  const next = db.prepare(
    `SELECT at, claimed FROM (
       SELECT min(due_at) AS at, 0 AS claimed FROM disbursements WHERE merchant_id = :merchant AND due_at IS NOT NULL
       UNION ALL SELECT min(due_at), 0 FROM checkouts WHERE merchant_id = :merchant AND due_at IS NOT NULL
       UNION ALL SELECT min(next_attempt_at), claimed_until IS NOT NULL FROM events
         WHERE merchant_id = :merchant AND next_attempt_at IS NOT NULL
     ) WHERE at IS NOT NULL ORDER BY at LIMIT 1`,
  );
  const setOffset = db.prepare("UPDATE merchants SET clock_offset = max(clock_offset, ?) WHERE id = ?");
  const zeroOffset = db.prepare(
    `UPDATE merchants SET clock_offset = 0, previous_webhook_secret = NULL, previous_webhook_secret_expires_at = NULL
     WHERE id = ?`,
  );
  const forgotten = ["events", "disbursements", "checkouts", "customers", "refused_tries"].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE merchant_id = ?`),
  );

  function settleRow(entry: (typeof due)[number], row: Row): void {
    const settled = entry.settle.get({ at: row.at!, rowid: row.rowid! });
    if (settled) events.insert(entry.kind, entry.toRecord(settled), row.due_status as FinalStatus);
  }

  return {
    settleDue: (now, limit, merchantId) => {
      // Most looks find nothing: those take no transaction.
      const find = () =>
        due.flatMap((entry) =>
          entry.select.all({ now, limit, merchant: merchantId ?? null }).map((row) => ({ entry, row })),
        );
      if (find().length === 0) return Promise.resolve(0);
      return write(() => {
        const found = find().slice(0, limit);
        for (const { entry, row } of found) settleRow(entry, row);
        return found.length;
      });
    },
    async nextDue(merchantId) {
      const row = next.get({ merchant: merchantId });
      return row && { at: row.at as number, claimed: row.claimed === 1 };
    },
    async setClockOffset(merchantId, clockOffset) {
      await write(() => {
        keys.clear();
        setOffset.run(clockOffset, merchantId);
      });
    },
    async reset(merchantId) {
      await write(() => {
        for (const statement of forgotten) statement.run(merchantId);
        keys.clear();
        zeroOffset.run(merchantId);
      });
    },
  };
}
