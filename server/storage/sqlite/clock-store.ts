import type { DatabaseSync } from "node:sqlite";
import { happensAt, movedTime, sandboxTime } from "../../domain/time.ts";
import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS } from "../../domain/listeners.ts";
import type { ClockStore } from "../../domain/clock-store.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import type { Context, Row } from "./context.ts";
import { clockMoved } from "../rows.ts";
import { settledReport, toCheckout, toDisbursement } from "../record-rows.ts";

const RECORDS = [
  { table: "disbursements", toRecord: toDisbursement },
  { table: "checkouts", toRecord: toCheckout },
] as const;

/** The number of rows whose due_real is recomputed in one transaction. */
const REBASE_STEP = 500;
/**
 * The tables with pending rows. `dueAt` is the column in sandbox time from which due_real is computed. `which` selects
 * the rows to recompute.
 */
const PENDING = [
  { table: "disbursements", dueAt: "due_at", which: "due_at IS NOT NULL" },
  { table: "checkouts", dueAt: "due_at", which: "due_at IS NOT NULL" },
  // A move does not change the due_real of a claimed delivery, which is the end of its lease, or of a ready one, which is
  // NULL.
  { table: "events", dueAt: "next_attempt_at", which: "due_real IS NOT NULL AND claimed = 0" },
] as const;

export function clockStore(context: Context): Omit<ClockStore, "listUpcoming"> {
  const { db, write, writeSoon, now, merchantOf, cache, emit, audit } = context;
  const { anyDue, settle, settleOf } = settlement(context);
  const hasDueRecord = RECORDS.map(({ table }) =>
    db.prepare(`SELECT 1 FROM ${table} WHERE merchant_id = ? AND epoch = ? AND due_at <= ? LIMIT 1`),
  );
  const hasDueEvent = db.prepare(
    `SELECT 1 FROM events WHERE merchant_id = ?1 AND epoch = ?2 AND next_attempt_at <= ?3 AND (host <> '${LISTENER_HOST}'
       OR EXISTS (SELECT 1 FROM listeners WHERE merchant_id = ?1 AND seen_real > ?4)) LIMIT 1`,
  );
  const setClock = db.prepare("UPDATE merchants SET clock_offset = ?, moved_to = ?, rebasing = 1 WHERE id = ?");
  // Changes nothing if a later move has set another offset, because that move may still be recomputing rows.
  const endRebase = db.prepare("UPDATE merchants SET rebasing = 0 WHERE id = ? AND epoch = ? AND clock_offset = ?");
  const startEpoch = db.prepare(
    `UPDATE merchants SET epoch = epoch + 1, clock_offset = 0, moved_to = 0, rebasing = 0, chaos = NULL WHERE id = ?
     RETURNING epoch`,
  );
  const discard = db.prepare("INSERT INTO discarded_epochs (merchant_id, epoch) VALUES (?, ?)");
  const forgetSecrets = db.prepare("DELETE FROM previous_webhook_secrets WHERE merchant_id = ?");
  const endReplay = db.prepare(
    "UPDATE replays SET state = 'stopped', ended_real = ? WHERE merchant_id = ? AND state = 'running'",
  );

  return {
    async settleDue(limit, merchantId) {
      // Usually nothing is due. Avoid a transaction then.
      if (!anyDue()) return 0;
      const settled = await writeSoon(() => (merchantId === undefined ? settle(limit) : settleOf(merchantId, limit)));
      for (const each of settled) if (each) emit("settled", each);
      return settled.length;
    },
    async moveClock(merchantId, move, mostAheadMs, actor) {
      const moved = await write(() => {
        const merchant = merchantOf(merchantId)!;
        const real = now();
        const to = movedTime(merchant, real, move, mostAheadMs);
        if (to === undefined) return undefined;
        setClock.run(to - real, Math.max(to, merchant.movedTo), merchantId);
        cache.clear();
        if (actor) audit.record(clockMoved(merchantId, to, actor));
        return merchantOf(merchantId)!;
      });
      if (!moved) return undefined;
      const { epoch, ...after } = moved;
      await rebase(context, merchantId);
      await write(() => endRebase.run(merchantId, epoch, after.clockOffset));
      return after;
    },
    async hasDue(merchantId, until) {
      const { epoch } = merchantOf(merchantId)!;
      if (hasDueRecord.some((statement) => statement.get(merchantId, epoch, until))) return true;
      return hasDueEvent.get(merchantId, epoch, until, now() - LISTENER_ATTENDS_MS) !== undefined;
    },
    async reset(merchantId, actor) {
      await write(() => {
        const { epoch } = startEpoch.get(merchantId)!;
        cache.clear();
        discard.run(merchantId, (epoch as number) - 1);
        forgetSecrets.run(merchantId);
        endReplay.run(now(), merchantId);
        if (actor) audit.record({ actor, action: "sandbox.reset", merchantId, details: {} });
      });
    },
  };
}

function settlement({ db, now, merchantOf, events }: Context) {
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
         due_status = NULL WHERE rowid = ? RETURNING *`,
    ),
    forget: db.prepare(`UPDATE ${table} SET due_at = NULL, due_real = NULL, due_status = NULL WHERE rowid = ?`),
  }));
  type Statements = (typeof statements)[number];

  /** Returns what to report, unless a reset has deleted the record. */
  function settleRow({ settle, forget, toRecord }: Statements, row: Row): RecordSettled | undefined {
    const merchant = merchantOf(row.merchant_id as string);
    // A reset has deleted this record; only its row is left.
    if (merchant?.epoch !== row.epoch) {
      forget.run(row.rowid!);
      return undefined;
    }
    const dueAt = row.due_at as number;
    const at = happensAt(merchant!, dueAt, now());
    const record = toRecord(settle.get(at, row.rowid!)!);
    events.insert(record, merchant!);
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

/**
 * Recomputes when a merchant's pending rows fall due in real time, in steps that let other work run in between. Rows
 * written meanwhile already use the new offset.
 */
async function rebase({ db, write, merchantOf }: Context, merchantId: string): Promise<void> {
  for (const { table, dueAt, which } of PENDING) {
    const select = db.prepare(
      `SELECT rowid AS id, ${dueAt} AS due_at FROM ${table} WHERE merchant_id = ? AND epoch = ? AND ${dueAt} IS NOT NULL
         AND (${dueAt}, rowid) > (?, ?) ORDER BY ${dueAt}, rowid LIMIT ${REBASE_STEP}`,
    );
    const update = db.prepare(`UPDATE ${table} SET due_real = ${dueAt} - ? WHERE rowid = ? AND ${which}`);
    for (let place: [number, number] | undefined = [0, 0]; place;) {
      const after: [number, number] = place;
      place = await write(() => {
        const { epoch, clockOffset } = merchantOf(merchantId)!;
        const rows = select.all(merchantId, epoch, ...after);
        for (const { id } of rows) update.run(clockOffset, id!);
        const last = rows.at(-1);
        return rows.length === REBASE_STEP ? ([last!.due_at, last!.id] as [number, number]) : undefined;
      });
    }
  }
}

/** Recomputes the due times that a crash left undone after a merchant's clock was moved. Call it before any other use. */
export function finishRebases(db: DatabaseSync): void {
  for (const { id } of db.prepare("SELECT id FROM merchants WHERE rebasing = 1").all()) {
    db.exec("BEGIN IMMEDIATE");
    for (const { table, dueAt, which } of PENDING) {
      db.prepare(
        `UPDATE ${table} SET due_real = ${dueAt} - m.clock_offset FROM merchants m
         WHERE m.id = ? AND ${table}.merchant_id = m.id AND ${table}.epoch = m.epoch AND ${which}`,
      ).run(id!);
    }
    db.prepare("UPDATE merchants SET rebasing = 0 WHERE id = ?").run(id!);
    db.exec("COMMIT");
  }
}
