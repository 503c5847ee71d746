import {
  MOST_FAILURES_COUNTED,
  MOST_GIVEN_UP_COUNTED,
  MOST_WAITING_COUNTED,
  type Issue,
  type FigureStore,
  type PaymentKind,
} from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import { toFailureCounts } from "./figure-rows.ts";
import { paymentCounts } from "./payment-counts.ts";
import { afterLane, type Executor } from "./query.ts";
import { WAITING } from "./queue.ts";

const TABLES = { disbursement: "disbursements", checkout: "checkouts" } as const satisfies Record<PaymentKind, string>;
/** The index that finds these rows is on merchant, host and time. */
const nextLane = (which: string) => `SELECT merchant_id, host FROM events
  WHERE ${WAITING} AND ${afterLane("host", ":merchant, :host")} ${which} ORDER BY merchant_id, host, next_attempt_at LIMIT 1`;
const WAITING_OF_LANE = `SELECT count(*) AS count, min(created_at) AS since FROM (SELECT created_at
  FROM events WHERE merchant_id = :merchant AND host = :host AND ${WAITING} ORDER BY next_attempt_at LIMIT ${MOST_WAITING_COUNTED}) AS found`;
/** The condition of the index `deliveries_failed`. */
const GIVEN_UP = "status IN ('ended', 'exhausted')";
/** Begins with the merchants, because the index does. */
const lastGivenUp = (which: string) => `SELECT id, after FROM (SELECT m.id, :after + m.clock_offset AS after,
    (SELECT created_at FROM events WHERE merchant_id = m.id AND ${GIVEN_UP} ORDER BY seq DESC LIMIT 1) AS last
  FROM merchants m ${which}) AS found WHERE last >= after ORDER BY last DESC LIMIT :limit`;
const GIVEN_UP_OF_MERCHANT = `SELECT host, count(*) AS count, min(created_at) AS since FROM (SELECT host, created_at
  FROM events WHERE merchant_id = :merchant AND ${GIVEN_UP} ORDER BY seq DESC LIMIT ${MOST_GIVEN_UP_COUNTED}) AS found
  WHERE created_at >= :after GROUP BY host`;

const LATE = "status = 'pending' AND approval IS NULL";
const lateMerchants = (which: string) => `SELECT id, oldest - clock_offset AS since, clock_offset
  FROM (SELECT m.id, m.clock_offset,
      (SELECT min(created_at) FROM disbursements WHERE merchant_id = m.id AND ${LATE}) AS oldest
    FROM merchants m ${which}) AS found
  WHERE oldest <= :before + clock_offset ORDER BY since LIMIT :limit`;
const LATE_OF_MERCHANT = `SELECT count(*) AS count FROM (SELECT 1 FROM disbursements
  WHERE merchant_id = :merchant AND created_at <= :before AND ${LATE} LIMIT ${MOST_WAITING_COUNTED}) AS found`;

const FAILURES = (kind: PaymentKind) => `SELECT failure, count(*) AS count FROM (SELECT failure FROM ${TABLES[kind]}
  WHERE merchant_id = :merchant AND status = 'failed' AND created_at >= :from AND created_at < :end
  ORDER BY created_at DESC LIMIT ${MOST_FAILURES_COUNTED}) AS found GROUP BY failure`;

export function figures(executor: Executor): FigureStore {
  const { read, readAll } = executor;
  return {
    readFigures: paymentCounts(executor),
    async listFailingReceivers({ merchantId, limit }) {
      const found: Issue[] = [];
      const text = nextLane(merchantId === undefined ? "" : "AND merchant_id = :merchant");
      let place: { merchant: string; host: string } = { merchant: merchantId ?? "", host: "" };
      while (found.length < limit) {
        const [lane] = await read({ text, values: place });
        if (!lane) break;
        place = { merchant: lane.merchant_id, host: lane.host };
        const [counts] = await read({ text: WAITING_OF_LANE, values: place });
        found.push({ merchantId: place.merchant, host: place.host, count: counts!.count, since: counts!.since });
      }
      return found;
    },
    async listGivenUp({ merchantId, after, limit }) {
      const values = { merchant: merchantId ?? "", after, limit };
      const merchants = await read({
        text: lastGivenUp(merchantId === undefined ? "" : "WHERE m.id = :merchant"),
        values,
      });
      const queries = merchants.map(({ id, after: from }) => ({
        text: GIVEN_UP_OF_MERCHANT,
        values: { merchant: id as string, after: from as number },
      }));
      const found = await readAll(queries);
      return found.flatMap((rows, index) =>
        rows.map(({ host, count, since }) => ({ merchantId: merchants[index]!.id, host, count, since })),
      );
    },
    async listLate({ merchantId, before, limit }) {
      const values = { merchant: merchantId ?? "", before, limit };
      const merchants = await read({
        text: lateMerchants(merchantId === undefined ? "" : "WHERE m.id = :merchant"),
        values,
      });
      const queries = merchants.map(({ id, clock_offset }) => ({
        text: LATE_OF_MERCHANT,
        values: { merchant: id as string, before: before + (clock_offset as number) },
      }));
      const found = await readAll(queries);
      return merchants.map(({ id, since }, index) => ({ merchantId: id, count: found[index]![0]!.count, since }));
    },
    async countFailures({ merchantId, kind, from, to }) {
      const values = { merchant: merchantId, from: from * DAY_MS, end: (to + 1) * DAY_MS };
      return toFailureCounts(await read({ text: FAILURES(kind), values }));
    },
  };
}
