import {
  MOST_FAILURES_COUNTED,
  MOST_GIVEN_UP_COUNTED,
  MOST_PENDING,
  MOST_WAITING_COUNTED,
  TIME_STEPS,
  type FailingReceiver,
  type FigureStore,
  type PaymentKind,
} from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import { FIGURE_COLUMNS } from "../columns.ts";
import type { Row, Values } from "../rows.ts";
import {
  toBusiestDays,
  toFailingReceiver,
  toFailureCounts,
  toFigure,
  toGivenUp,
  toLate,
  toPending,
  toReceiverAttempt,
} from "./figure-rows.ts";
import { STATUSES } from "./event-search.ts";
import { afterLane, mergedRanges, run, runAll, type Database, type Executor, type Work } from "./query.ts";

const TABLES = { disbursement: "disbursements", checkout: "checkouts" } as const satisfies Record<PaymentKind, string>;
const KINDS = Object.keys(TABLES) as PaymentKind[];
const OF_EPOCH = "merchant_id = :merchant AND epoch = :epoch";

/** A merchant with events that are not counted, or with counts from before its last reset. */
const BEHIND = `SELECT m.id FROM merchants m LEFT JOIN figures_progress p ON p.merchant_id = m.id
  WHERE p.epoch <> m.epoch OR EXISTS (SELECT 1 FROM events e WHERE e.merchant_id = m.id AND e.epoch = m.epoch
    AND e.seq > coalesce(p.seq, 0)) LIMIT 1`;
const BEGIN = `INSERT INTO figures_progress (merchant_id, epoch, seq) SELECT id, epoch, 0 FROM merchants
  WHERE id = :merchant ON CONFLICT DO NOTHING`;
/** Other processes wait, so that they do not count the same events. */
const LOCK = "SELECT epoch, seq FROM figures_progress WHERE merchant_id = :merchant FOR UPDATE";
const EPOCH = "SELECT epoch FROM merchants WHERE id = :merchant";
const NEXT = `SELECT max(seq) AS last, count(*) AS count
  FROM (SELECT seq FROM events WHERE ${OF_EPOCH} AND seq > :after ORDER BY seq LIMIT :limit) AS found`;
const STORE_PROGRESS = "UPDATE figures_progress SET epoch = :epoch, seq = :seq WHERE merchant_id = :merchant";

const took = (from: string, to: string) =>
  `CASE ${TIME_STEPS.map((step) => `WHEN ${to} - ${from} <= ${step} THEN ${step}`).join(" ")} ELSE -1 END`;
/** The amounts of a step stay below 2^53, so that SQLite's driver can read them. */
const AMOUNTS = `sum(r.amount / 100000000)::bigint AS amount_high, sum(r.amount % 100000000)::bigint AS amount_low`;
/**
 * With a plain condition on the epoch, PostgreSQL may read all payments of the epoch for each event, as long as it has no
 * statistics of the tables.
 */
const count = (kind: PaymentKind) => `SELECT r.created_at / ${DAY_MS} AS day, '${kind}' AS kind, r.status, r.currency,
    coalesce(h.rail, '') AS rail, ${took("r.created_at", "e.created_at")} AS took, count(*) AS payments, ${AMOUNTS}
  FROM events e JOIN ${TABLES[kind]} r ON r.merchant_id = e.merchant_id AND r.reference = e.reference AND r.epoch + 0 = e.epoch
    LEFT JOIN handovers h ON h.merchant_id = e.merchant_id AND h.id = e.reference
  WHERE e.merchant_id = :merchant AND e.epoch = :epoch AND e.seq > :after AND e.seq <= :last
  GROUP BY 1, 3, 4, 5, 6`;
const COUNTS = KINDS.map(count);

const KEY = ["day", "kind", "status", "currency", "rail", "took"];
const SUMS = ["payments", "amount_high", "amount_low"];
/** Processes that count different merchants change the sums of all merchants in the same order. */
const ADD = `INSERT INTO daily_figures AS f (${Object.keys(FIGURE_COLUMNS).join(", ")}) SELECT * FROM :rows WHERE true
  ORDER BY merchant_id, ${KEY.join(", ")} ON CONFLICT (merchant_id, epoch, ${KEY.join(", ")}) DO UPDATE
  SET ${SUMS.map((sum) => `${sum} = f.${sum} + excluded.${sum}`).join(", ")}`;
const COUNTED = `SELECT ${[...KEY, ...SUMS].join(", ")} FROM daily_figures WHERE ${OF_EPOCH}`;
const FORGET = `DELETE FROM daily_figures WHERE ${OF_EPOCH}`;

const READ = `SELECT day, kind, status, currency, rail, took, payments, amount_high, amount_low FROM daily_figures
  WHERE merchant_id = :merchant AND epoch = :epoch AND day >= :from AND day <= :to`;
/** With CROSS JOIN, SQLite begins with the merchants, and so uses the index on merchant and status. */
const PENDING = (kind: PaymentKind, which: string) => `SELECT r.created_at / ${DAY_MS} AS day, '${kind}' AS kind,
    r.currency, count(*) AS payments, min(r.created_real) AS oldest, ${AMOUNTS}
  FROM (SELECT r.created_at, r.created_at - m.clock_offset AS created_real, r.currency, r.amount
    FROM merchants m CROSS JOIN ${TABLES[kind]} r
    WHERE r.merchant_id = m.id AND r.epoch = m.epoch AND r.status = 'pending' AND r.created_at >= :from AND r.created_at < :end ${which} LIMIT ${MOST_PENDING}) AS r
  GROUP BY 1, 3`;

/** The index that finds these rows is on merchant, host and time. */
const WAITING = `due_real IS NOT NULL AND claimed = false`;
const nextLane = (which: string) => `SELECT merchant_id, host, next_attempt_at FROM events
  WHERE ${WAITING} AND ${afterLane("host", ":merchant, :host")} ${which} ORDER BY merchant_id, host, next_attempt_at LIMIT 1`;
const WAITING_OF_LANE = `SELECT count(*) AS count, min(created_at) AS since FROM (SELECT e.created_at
  FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
  WHERE e.merchant_id = :merchant AND e.host = :host AND e.due_real IS NOT NULL AND e.claimed = false
  ORDER BY e.next_attempt_at LIMIT ${MOST_WAITING_COUNTED}) AS found`;
/** The condition of the index `deliveries_failed`. */
const GIVEN_UP = "status IN ('ended', 'exhausted')";
/** Begins with the merchants, because the index does. */
const lastGivenUp = (
  which: string,
) => `SELECT id, epoch, after FROM (SELECT m.id, m.epoch, :after + m.clock_offset AS after,
    (SELECT created_at FROM events WHERE merchant_id = m.id AND epoch = m.epoch AND ${GIVEN_UP} ORDER BY seq DESC LIMIT 1) AS last
  FROM merchants m ${which}) AS found WHERE last >= after ORDER BY last DESC LIMIT :limit`;
const GIVEN_UP_OF_MERCHANT = `SELECT host, count(*) AS count, min(created_at) AS since FROM (SELECT host, created_at
  FROM events WHERE ${OF_EPOCH} AND ${GIVEN_UP} ORDER BY seq DESC LIMIT ${MOST_GIVEN_UP_COUNTED}) AS found
  WHERE created_at >= :after GROUP BY host`;

const LATE = "status = 'pending' AND approval IS NULL";
const lateMerchants = (which: string) => `SELECT id, oldest - clock_offset AS since, clock_offset, epoch
  FROM (SELECT m.id, m.clock_offset, m.epoch,
      (SELECT min(created_at) FROM disbursements WHERE merchant_id = m.id AND epoch = m.epoch AND ${LATE}) AS oldest
    FROM merchants m ${which}) AS found
  WHERE oldest <= :before + clock_offset ORDER BY since LIMIT :limit`;
const LATE_OF_MERCHANT = `SELECT count(*) AS count FROM (SELECT 1 FROM disbursements
  WHERE ${OF_EPOCH} AND created_at <= :before AND ${LATE} LIMIT ${MOST_WAITING_COUNTED}) AS found`;

const FAILURES = (kind: PaymentKind) => `SELECT failure, count(*) AS count FROM (SELECT failure FROM ${TABLES[kind]}
  WHERE merchant_id = :merchant AND epoch = (${EPOCH}) AND status = 'failed' AND created_at >= :from AND created_at < :end
  ORDER BY created_at DESC LIMIT ${MOST_FAILURES_COUNTED}) AS found GROUP BY failure`;

/** SQLite's driver passes numbers as fractions, so the quotients are not whole there. */
const paidByDay = (
  which: string,
) => `SELECT f.merchant_id, f.currency, f.day, sum(f.amount_high)::bigint AS amount_high,
    sum(f.amount_low)::bigint AS amount_low
  FROM merchants m CROSS JOIN daily_figures f
  WHERE f.merchant_id = m.id AND f.epoch = m.epoch AND f.kind = 'disbursement' AND f.status = 'success'
    AND f.day > (:now + m.clock_offset) / ${DAY_MS} - 1 - :days AND f.day <= (:now + m.clock_offset) / ${DAY_MS} - 1 ${which}
  GROUP BY f.merchant_id, f.currency, f.day`;

const ATTEMPTS = {
  sqlite: "a.event_id = e.id",
  postgres: "a.merchant_id = :merchant AND a.event_id = e.id",
};
const lastDeliveries = STATUSES.map(
  (status) => `SELECT id, host, seq FROM events WHERE merchant_id = :merchant
    AND epoch = (SELECT epoch FROM merchants WHERE id = :merchant) AND url IS NOT NULL AND status = '${status}'`,
);
const receiverAttempts = (database: Database) => `SELECT e.host, a.at, a.latency_ms, a.http_status, a.error
  FROM (${mergedRanges(database, lastDeliveries, "ORDER BY seq DESC", "LIMIT :limit")}) AS e
    JOIN attempts a ON ${ATTEMPTS[database]} ORDER BY e.seq DESC, a.number DESC`;
const RECEIVER_ATTEMPTS = { sqlite: receiverAttempts("sqlite"), postgres: receiverAttempts("postgres") };

/** The counting is repeated if a power failure undoes it, so it need not be flushed to the disk. */
const UNFLUSHED = { commit: "writeUnflushed", repeatable: true } as const;

export function figures({ read, readAll, write }: Executor): FigureStore {
  return {
    async countFigures(limit) {
      const [behind] = await read({ text: BEHIND });
      return behind ? write(() => countNext(behind.id as string, limit), UNFLUSHED) : 0;
    },
    async readFigures({ merchantId, ...days }) {
      const [merchant] = merchantId === undefined ? [] : await read({ text: EPOCH, values: { merchant: merchantId } });
      const values = { ...days, merchant: merchantId ?? "", epoch: (merchant?.epoch as number | undefined) ?? 0 };
      return (await read({ text: READ, values })).map(toFigure);
    },
    async readPending({ merchantId, from, to }) {
      const values = { from: from * DAY_MS, end: (to + 1) * DAY_MS, merchant: merchantId ?? "" };
      const which = merchantId === undefined ? "" : "AND m.id = :merchant ORDER BY r.created_at DESC";
      const found = await readAll(KINDS.map((kind) => ({ text: PENDING(kind, which), values })));
      return found.flat().map(toPending);
    },
    async listFailingReceivers({ merchantId, limit }) {
      const found: FailingReceiver[] = [];
      const text = nextLane(merchantId === undefined ? "" : "AND merchant_id = :merchant");
      let place: { merchant: string; host: string } = { merchant: merchantId ?? "", host: "" };
      while (found.length < limit) {
        const [lane] = await read({ text, values: place });
        if (!lane) break;
        place = { merchant: lane.merchant_id as string, host: lane.host as string };
        const [counts] = await read({ text: WAITING_OF_LANE, values: place });
        // The rows from before a reset of the sandbox stay until they are deleted.
        if ((counts!.count as number) > 0) found.push(toFailingReceiver(lane, counts!));
      }
      return found;
    },
    async listGivenUp({ merchantId, after, limit }) {
      const values = { merchant: merchantId ?? "", after, limit };
      const merchants = await read({
        text: lastGivenUp(merchantId === undefined ? "" : "WHERE m.id = :merchant"),
        values,
      });
      const queries = merchants.map(({ id, epoch, after: from }) => ({
        text: GIVEN_UP_OF_MERCHANT,
        values: { merchant: id as string, epoch: epoch as number, after: from as number },
      }));
      const found = await readAll(queries);
      return found.flatMap((rows, index) => rows.map((row) => toGivenUp(merchants[index]!, row)));
    },
    async listLate({ merchantId, before, limit }) {
      const values = { merchant: merchantId ?? "", before, limit };
      const merchants = await read({
        text: lateMerchants(merchantId === undefined ? "" : "WHERE m.id = :merchant"),
        values,
      });
      const queries = merchants.map(({ id, epoch, clock_offset }) => ({
        text: LATE_OF_MERCHANT,
        values: { merchant: id as string, epoch: epoch as number, before: before + (clock_offset as number) },
      }));
      const found = await readAll(queries);
      return merchants.map((merchant, index) => toLate(merchant, found[index]![0]!));
    },
    async countFailures({ merchantId, kind, from, to }) {
      const values = { merchant: merchantId, from: from * DAY_MS, end: (to + 1) * DAY_MS };
      return toFailureCounts(await read({ text: FAILURES(kind), values }));
    },
    async readBusiestDays({ merchantId, days }) {
      const text = paidByDay(merchantId === undefined ? "" : "AND m.id = :merchant");
      return toBusiestDays(await read({ text, values: { merchant: merchantId ?? "", days } }));
    },
    async readReceiverAttempts(merchant, limit) {
      return (await read({ text: RECEIVER_ATTEMPTS, values: { merchant, limit } })).map(toReceiverAttempt);
    },
  };
}

function* countNext(merchant: string, limit: number): Work<number> {
  yield* run(BEGIN, { merchant });
  const [progress] = (yield* run(LOCK, { merchant })).rows;
  const [current] = (yield* run(EPOCH, { merchant })).rows;
  const [epoch, counted] = [current!.epoch as number, progress!.epoch as number];
  if (counted !== epoch) yield* forget(merchant, counted);
  const after = counted === epoch ? (progress!.seq as number) : 0;
  const [next] = (yield* run(NEXT, { merchant, epoch, after, limit })).rows;
  const last = (next!.last as number | null) ?? after;
  const found = yield* runAll(COUNTS.map((text) => ({ text, values: { merchant, epoch, after, last } })));
  yield* add(
    merchant,
    epoch,
    found.flatMap(({ rows }) => rows),
  );
  yield* run(STORE_PROGRESS, { merchant, epoch, seq: last });
  return next!.count as number;
}

/** Adds figures to the figures of the merchant and to the figures of all merchants. */
function* add(merchant: string, epoch: number, rows: readonly Row[]): Work<void> {
  if (rows.length === 0) return;
  const places = [
    { merchant_id: merchant, epoch },
    { merchant_id: "", epoch: 0 },
  ];
  const values = places.flatMap((place) => rows.map((row) => ({ ...(row as Values), ...place })));
  yield [{ text: ADD, rows: { columns: FIGURE_COLUMNS, values } }];
}

/** Subtracts a merchant's figures from before a reset from the figures of all merchants. */
function* forget(merchant: string, epoch: number): Work<void> {
  const { rows } = yield* run(COUNTED, { merchant, epoch });
  const values = rows.map((row) => ({
    ...(row as Values),
    ...Object.fromEntries(SUMS.map((sum) => [sum, -(row[sum] as number)])),
    merchant_id: "",
    epoch: 0,
  }));
  if (values.length > 0) yield [{ text: ADD, rows: { columns: FIGURE_COLUMNS, values } }];
  yield* run(FORGET, { merchant, epoch });
}
