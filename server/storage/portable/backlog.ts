import type { DeliveryQueue } from "../../domain/deliveries.ts";
import { MOST_COUNTED, MOST_LANES, type Backlog, type Storage } from "../../domain/storage.ts";
import { columnsOf } from "../columns.ts";
import { toObject } from "../rows.ts";
import type { Executor } from "./query.ts";
import { WAITING } from "./queue.ts";

/** Counts rows of an index, up to a limit. */
const count = (table: string, where: string) =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ${MOST_COUNTED}) AS found)`;
/** An index on merchants has the ready deliveries. Every merchant's id is greater than an empty text. */
const READY = "ready = true AND merchant_id > ''";
const DUE = "due_at <= (SELECT :now)";
const DUE_DELIVERY = `next_attempt_at <= (SELECT :now) AND ${WAITING}`;
/**
 * The deliveries that are due and those that wait. A claimed delivery waits until its lease ends. Without ORDER BY,
 * PostgreSQL may expect many rows and read the whole table.
 */
const DUE_DELIVERIES = [
  READY,
  `${DUE_DELIVERY} ORDER BY next_attempt_at`,
  "leased_until <= :leased ORDER BY leased_until",
];
const WAITING_DELIVERIES = [
  `next_attempt_at > (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`,
  "leased_until > :leased ORDER BY leased_until",
];
const deliveries = (conditions: readonly string[]) => conditions.map((where) => count("events", where)).join(" + ");
const COUNTS = `SELECT
  ${deliveries(DUE_DELIVERIES)} AS due,
  ${deliveries(WAITING_DELIVERIES)} AS waiting,
  ${count("disbursements", DUE)} + ${count("checkouts", DUE)} AS settlements,
  (SELECT min(next_attempt_at) FROM events WHERE ${DUE_DELIVERY}) AS oldest_delivery,
  (SELECT min(due_at) FROM disbursements WHERE ${DUE}) AS oldest_payout,
  (SELECT min(due_at) FROM checkouts WHERE ${DUE}) AS oldest_checkout`;
/** The first delivery of a lane is its oldest. */
const FIRST_OF_LANES = `SELECT (SELECT next_attempt_at FROM events WHERE ready = true AND merchant_id = given.merchant_id
  AND host = given.host ORDER BY next_attempt_at LIMIT 1) AS oldest FROM :rows`;
const LANE = columnsOf("events", ["merchant_id", "host"]);

type Time = number | null;

/** Returns the least of these times; null if there is none. */
const earliest = (times: readonly Time[]): Time =>
  times.reduce((least, time) => (least === null || (time !== null && time < least) ? time : least), null);

export function backlog(
  { read }: Executor,
  { readyLanes }: Pick<DeliveryQueue, "readyLanes">,
): Pick<Storage, "readBacklog"> {
  return {
    async readBacklog() {
      const lanes = await readyLanes({ limit: MOST_LANES });
      const values = lanes.map(({ merchantId, host }) => ({ merchant_id: merchantId, host }));
      const firsts = await read({ text: FIRST_OF_LANES, rows: { columns: LANE, values } });
      const [row] = await read({ text: COUNTS });
      return toObject<Backlog>({
        dueDeliveries: Math.min(MOST_COUNTED, row!.due),
        waitingDeliveries: Math.min(MOST_COUNTED, row!.waiting),
        oldestDeliveryDueAt: earliest([row!.oldest_delivery, ...firsts.map(({ oldest }) => oldest)]),
        dueSettlements: Math.min(MOST_COUNTED, row!.settlements),
        oldestSettlementDueAt: earliest([row!.oldest_payout, row!.oldest_checkout]),
      });
    },
  };
}
