import { MOST_COUNTED, MOST_LANES, type Storage } from "../../domain/storage.ts";
import { toBacklog } from "./backlog-rows.ts";
import type { Context } from "../postgres/context.ts";

/** Counts rows of an index, up to a limit. */
const count = (table: string, where: string) =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ${MOST_COUNTED}) AS counted)`;
const oldest = (table: string, where = "true") =>
  `(SELECT min(due_real) FROM ${table} WHERE due_real <= (SELECT :now) AND ${where})`;
const SETTLEMENTS = ["disbursements", "checkouts"];
/** An index on merchants has the ready deliveries. Every merchant's id is greater than an empty text. */
const READY = "ready AND merchant_id > ''";
const DUE = "due_real <= (SELECT :now)";
/** The due_real of a claimed delivery is the end of its lease. The first conditions select the range of the index. */
const DUE_FROM = "CASE WHEN claimed THEN :leased ELSE (SELECT :now) END";
const DUE_DELIVERY = `due_real <= greatest((SELECT :now), :leased) AND due_real <= ${DUE_FROM}`;
const WAITING = `due_real > least((SELECT :now), :leased) AND due_real > ${DUE_FROM}`;

/** Jumps from lane to lane in the index, and reads the first delivery of each, which is the lane's oldest. */
const BACKLOG = `WITH RECURSIVE lanes AS (
    (SELECT merchant_id, host, next_attempt_at FROM events WHERE ${READY}
      ORDER BY merchant_id, host, next_attempt_at, seq LIMIT 1)
    UNION ALL
    SELECT next.merchant_id, next.host, next.next_attempt_at FROM lanes CROSS JOIN LATERAL (
      SELECT merchant_id, host, next_attempt_at FROM events WHERE ready
        AND (merchant_id, host) > (lanes.merchant_id, lanes.host)
      ORDER BY merchant_id, host, next_attempt_at, seq LIMIT 1) AS next
  )
  SELECT
    least(${MOST_COUNTED}, ${count("events", READY)} + ${count("events", DUE_DELIVERY)}) AS due_deliveries,
    ${count("events", WAITING)} AS waiting_deliveries,
    least(${oldest("events", "NOT claimed")}, (SELECT
      min(first.next_attempt_at - (SELECT clock_offset FROM merchants m WHERE m.id = first.merchant_id))
      FROM (SELECT * FROM lanes LIMIT ${MOST_LANES}) AS first)) AS oldest_delivery,
    least(${MOST_COUNTED}, ${SETTLEMENTS.map((table) => count(table, DUE)).join(" + ")}) AS due_settlements,
    least(${SETTLEMENTS.map((table) => oldest(table)).join(", ")}) AS oldest_settlement`;

export function backlog({ db }: Context): Storage["readBacklog"] {
  return async () => toBacklog((await db.read(BACKLOG)).rows[0]!);
}
