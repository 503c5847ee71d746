import { setImmediate as nextTurn } from "node:timers/promises";
import type { Figure, FigureStore, FiguresQuery } from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import { toFigure } from "./figure-rows.ts";
import type { Executor } from "./query.ts";

/** How much of a day a statement counts. SQLite blocks the event loop meanwhile. */
const PART_MS = { sqlite: DAY_MS / 24, postgres: DAY_MS };
/** After this time, a count lets other work run. */
const TURN_MS = 5;
/** How long an answer is kept. */
const KEPT_MS = 60_000;
/** How many answers are kept. The oldest is forgotten first. */
const MOST_ANSWERS = 1_000;

/** The amounts of a part stay below 2^53, so that SQLite's driver can read them. */
const count = (table: string, statuses: string) => `SELECT status, currency, count(*) AS payments,
    sum(amount / 100000000)::bigint AS amount_high, sum(amount % 100000000)::bigint AS amount_low
  FROM ${table} WHERE merchant_id = :merchant AND status IN (${statuses})
    AND created_at >= :from AND created_at < :end GROUP BY 1, 2`;
const COUNT = {
  disbursement: count("disbursements", "'pending', 'success', 'failed'"),
  checkout: count("checkouts", "'pending', 'success', 'failed', 'cancelled'"),
};
/** No wall clock affects how long an answer is kept. A move of the merchant's clock ends it, and so does a reset. */
const MERCHANT = "SELECT customer_secret, clock_offset, (SELECT :leased) AS at FROM merchants WHERE id = :merchant";

/** Counts a merchant's payments when they are asked for (D41). */
export function paymentCounts({ read, database }: Executor): FigureStore["readFigures"] {
  const answers = new Map<string, { at: number; figures: Promise<Figure[]> }>();
  const partMs = PART_MS[database];

  /** Each payment is in one part, and one statement counts a part: a payment that settles meanwhile is counted once. */
  async function counted({ merchantId: merchant, kind, from, to }: FiguresQuery) {
    const figures: Figure[] = [];
    let begun = performance.now();
    for (let start = from * DAY_MS; start < (to + 1) * DAY_MS; start += partMs) {
      const values = { merchant, from: start, end: start + partMs };
      const rows = await read({ text: COUNT[kind], values });
      figures.push(...rows.map((row) => toFigure(row, Math.floor(start / DAY_MS))));
      if (performance.now() - begun < TURN_MS) continue;
      await nextTurn();
      begun = performance.now();
    }
    return figures;
  }

  return async (query) => {
    const { merchantId, kind, from, to } = query;
    const [merchant] = await read({ text: MERCHANT, values: { merchant: merchantId } });
    if (!merchant) return [];
    const at = merchant.at as number;
    const name = `${merchantId} ${merchant.customer_secret} ${merchant.clock_offset} ${kind} ${from} ${to}`;
    const answer = answers.get(name);
    if (answer && answer.at <= at && at < answer.at + KEPT_MS) return answer.figures;
    const figures = counted(query);
    answers.delete(name);
    answers.set(name, { at, figures });
    if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value!);
    figures.catch(() => answers.delete(name));
    return figures;
  };
}
