import type { SQLInputValue } from "node:sqlite";
import { MOST_COUNTED, MOST_LANES, type Storage } from "../../domain/storage.ts";
import { toBacklog } from "./backlog-rows.ts";
import type { Context } from "../sqlite/context.ts";
import { afterLane } from "../portable/query.ts";

/** Counts rows of an index, but no more than a few. */
const count = (table: string, where: string) =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ${MOST_COUNTED}))`;
const SETTLEMENTS = ["disbursements", "checkouts"];

/**
 * The due_real of a claimed delivery is the end of its lease. The conditions before this condition select the range of
 * the index.
 */
const DUE_FROM = "CASE claimed WHEN 1 THEN :leased ELSE :now END";

/** An index on merchants has the ready deliveries. Every merchant's id is greater than an empty text. */
const COUNTS = `SELECT
  ${count("events", "ready = 1 AND merchant_id > ''")} AS ready,
  ${count("events", `due_real <= max(:now, :leased) AND due_real <= ${DUE_FROM}`)} AS lapsed,
  ${count("events", `due_real > min(:now, :leased) AND due_real > ${DUE_FROM}`)} AS waiting_deliveries,
  (SELECT min(due_real) FROM events WHERE due_real <= :now AND claimed = 0) AS oldest_lapsed,
  ${SETTLEMENTS.map((table) => count(table, "due_real <= :now")).join(" + ")} AS due_settlements,
  ${SETTLEMENTS.map((table) => `(SELECT min(due_real) FROM ${table} WHERE due_real <= :now)`)
    .map((oldest, index) => `${oldest} AS oldest_${SETTLEMENTS[index]}`)
    .join(", ")}`;

/** Returns the least of these times, or null if all are. */
function earliest(...times: unknown[]): number | null {
  const least = Math.min(...times.map((time) => (time as number | null) ?? Infinity));
  return least === Infinity ? null : least;
}

export function backlog({ db, now, leased, merchantOf }: Context): Storage["readBacklog"] {
  const counts = db.prepare(COUNTS);
  const firstOfLane = db.prepare(
    `SELECT merchant_id, host, next_attempt_at FROM events WHERE ready = 1 AND ${afterLane("host")}
     ORDER BY merchant_id, host, next_attempt_at LIMIT 1`,
  );

  /** Returns when the oldest ready delivery fell due. The first delivery of a lane is its oldest. */
  function oldestReady(): number {
    let oldest = Infinity;
    let place: SQLInputValue[] = ["", ""];
    for (let lanes = 0; lanes < MOST_LANES; lanes += 1) {
      const row = firstOfLane.get(...place);
      if (!row) break;
      const merchant = merchantOf(row.merchant_id as string)!;
      if (row.next_attempt_at !== null)
        oldest = Math.min(oldest, (row.next_attempt_at as number) - merchant.clockOffset);
      place = [row.merchant_id!, row.host!];
    }
    return oldest;
  }

  return async () => {
    const row = counts.get({ now: now(), leased: leased() })!;
    return toBacklog({
      due_deliveries: Math.min(MOST_COUNTED, (row.ready as number) + (row.lapsed as number)),
      waiting_deliveries: row.waiting_deliveries,
      oldest_delivery: earliest(row.oldest_lapsed, oldestReady()),
      due_settlements: Math.min(MOST_COUNTED, row.due_settlements as number),
      oldest_settlement: earliest(row.oldest_disbursements, row.oldest_checkouts),
    });
  };
}
