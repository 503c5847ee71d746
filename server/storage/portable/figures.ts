import { setImmediate as nextTurn } from "node:timers/promises";
import { MOST_GIVEN_UP_COUNTED, MOST_WAITING_COUNTED } from "../../domain/figures.ts";
import type { Figure, Issue, FigureStore, FiguresQuery } from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import { fields, RECORDS, type Row } from "../rows.ts";
import { afterLane, type Executor, type Query } from "./query.ts";
import { RETRYING } from "./queue.ts";

/** How much of a day a statement counts. SQLite blocks the event loop meanwhile. */
const PART_MS = { sqlite: DAY_MS / 24, postgres: DAY_MS };
/** After this time, a count lets other work run. */
const TURN_MS = 5;
/** How long an answer is kept. */
const KEPT_MS = 60_000;

/** The amounts of a part stay below 2^53, so that SQLite's driver can read them. */
const COUNT = (kind: FiguresQuery["kind"]) => `SELECT status, currency, count(*) AS payments,
    sum(amount / 100000000)::bigint AS amount_high, sum(amount % 100000000)::bigint AS amount_low
  FROM ${RECORDS[kind].table} WHERE merchant_id = :merchant
    AND status IN (${RECORDS[kind].statuses.map((status) => `'${status}'`).join(", ")})
    AND created_at >= :from AND created_at < :end GROUP BY 1, 2`;
/** No wall clock affects how long an answer is kept. A move of the merchant's clock ends it, and so does a reset. */
const MERCHANT = "SELECT customer_secret, clock_offset, (SELECT :leased) AS at FROM merchants WHERE id = :merchant";

/** The index that finds these rows is on merchant, host and time. */
const nextLane = (which: string) => `SELECT merchant_id, host FROM events
  WHERE ${RETRYING} AND ${afterLane("host", ":merchant, :host")} ${which} ORDER BY merchant_id, host, next_attempt_at LIMIT 1`;
const WAITING_OF_LANE = `SELECT count(*) AS count, min(created_at) AS since FROM (SELECT created_at
  FROM events WHERE merchant_id = :merchant AND host = :host AND ${RETRYING} ORDER BY next_attempt_at LIMIT ${MOST_WAITING_COUNTED}) AS found`;
/** The condition of the index `deliveries_failed`. */
const GIVEN_UP = "status IN ('ended', 'exhausted')";
/** Begins with the merchants, because the index does. */
const lastGivenUp = (
  which: string,
) => `SELECT id AS merchant_id, after FROM (SELECT m.id, :after + m.clock_offset AS after,
    (SELECT created_at FROM events WHERE merchant_id = m.id AND ${GIVEN_UP} ORDER BY seq DESC LIMIT 1) AS last
  FROM merchants m ${which}) AS found WHERE last >= after ORDER BY last DESC LIMIT :limit`;
const GIVEN_UP_OF_MERCHANT = `SELECT host, count(*) AS count, min(created_at) AS since FROM (SELECT host, created_at
  FROM events WHERE merchant_id = :merchant AND ${GIVEN_UP} ORDER BY seq DESC LIMIT ${MOST_GIVEN_UP_COUNTED}) AS found
  WHERE created_at >= :after GROUP BY host`;

const LATE = "status = 'pending' AND approval IS NULL";
const lateMerchants = (which: string) => `SELECT id AS merchant_id, oldest - clock_offset AS since,
    :before + clock_offset AS before
  FROM (SELECT m.id, m.clock_offset,
      (SELECT min(created_at) FROM disbursements WHERE merchant_id = m.id AND ${LATE}) AS oldest
    FROM merchants m ${which}) AS found
  WHERE oldest <= :before + clock_offset ORDER BY since LIMIT :limit`;
const LATE_OF_MERCHANT = `SELECT count(*) AS count FROM (SELECT 1 FROM disbursements
  WHERE merchant_id = :merchant AND created_at <= :before AND ${LATE} LIMIT ${MOST_WAITING_COUNTED}) AS found`;

const toIssue = fields<Issue>("merchant_id host count since");
export function figures({ database, read }: Executor): FigureStore {
  const answers = new Map<string, { at: number; figures: Promise<Figure[]> }>();

  /** Each payment is in one part, and one statement counts a part: a payment that settles meanwhile is counted once. */
  async function counted(query: FiguresQuery) {
    const [from, end] = [query.from * DAY_MS, (query.to + 1) * DAY_MS];
    const found: Figure[] = [];
    let begun = performance.now();
    for (let start = from; start < end; start += PART_MS[database]) {
      const values = { merchant: query.merchantId, from: start, end: start + PART_MS[database] };
      for (const row of await read({ text: COUNT(query.kind), values })) {
        const { status, currency, payments } = row;
        const amount = BigInt(row.amount_high) * 100_000_000n + BigInt(row.amount_low);
        found.push({ day: Math.floor(start / DAY_MS), status, currency, payments, amount });
      }
      if (performance.now() - begun < TURN_MS) continue;
      await nextTurn();
      begun = performance.now();
    }
    return found;
  }

  /** Counts something of each merchant that a statement finds. Returns the rows of both. */
  async function ofEach(merchants: (which: string) => string, ofOne: string, values: NonNullable<Query["values"]>) {
    const which = values.merchant === undefined ? "" : "WHERE m.id = :merchant";
    const rows = await read({ text: merchants(which), values });
    const found = await Promise.all(
      rows.map((row) => read({ text: ofOne, values: { ...row, merchant: row.merchant_id } })),
    );
    return rows.flatMap((row, index) => found[index]!.map((each): Row => ({ ...row, ...each })));
  }

  return {
    /** Counts a merchant's payments when they are asked for (D41). */
    async readFigures(query) {
      const { merchantId, kind, from, to } = query;
      const [merchant] = await read({ text: MERCHANT, values: { merchant: merchantId } });
      if (!merchant) return [];
      const at = merchant.at as number;
      const name = `${merchantId} ${merchant.customer_secret} ${merchant.clock_offset} ${kind} ${from} ${to}`;
      for (const [each, { at: since }] of answers) if (at < since || at >= since + KEPT_MS) answers.delete(each);
      const answer = answers.get(name) ?? { at, figures: counted(query) };
      answers.set(name, answer);
      answer.figures.catch(() => answers.delete(name));
      return answer.figures;
    },
    async listFailingReceivers({ merchantId, limit }) {
      const found: Issue[] = [];
      const text = nextLane(merchantId === undefined ? "" : "AND merchant_id = :merchant");
      let place = { merchant: merchantId ?? "", host: "" };
      while (found.length < limit) {
        const [lane] = await read({ text, values: place });
        if (!lane) break;
        place = { merchant: lane.merchant_id, host: lane.host };
        const [counts] = await read({ text: WAITING_OF_LANE, values: place });
        if (counts!.count > 0) found.push(toIssue({ ...lane, ...counts }));
      }
      return found;
    },
    async listGivenUp({ merchantId: merchant, after, limit }) {
      return (await ofEach(lastGivenUp, GIVEN_UP_OF_MERCHANT, { merchant, after, limit })).map(toIssue);
    },
    async listLate({ merchantId: merchant, before, limit }) {
      return (await ofEach(lateMerchants, LATE_OF_MERCHANT, { merchant, before, limit })).map(toIssue);
    },
  };
}
