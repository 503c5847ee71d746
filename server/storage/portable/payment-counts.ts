import { setImmediate as nextTurn } from "node:timers/promises";
import type { Figure, FigureStore, FiguresQuery } from "../../domain/figures.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { Row } from "../rows.ts";
import { toFigure } from "./figure-rows.ts";
import type { Executor } from "./query.ts";

/** Payments are counted in parts of a day, because SQLite blocks the event loop while it counts. */
const PART_MS = DAY_MS / 24;
/** Once a part is over for so long, no process writes another payment that was created in it. */
const LATE_MS = 600_000;
/** How long an answer is kept. */
const KEPT_MS = 60_000;
/** How many answers and parts are kept. The oldest are forgotten first. */
const MOST_ANSWERS = 1_000;
const MOST_PARTS = 50_000;

/** The final payments of a part that is over, and how many payments were pending when they were counted. */
interface Part {
  pending: number;
  final: readonly Row[];
}

/** The amounts of a part stay below 2^53, so that SQLite's driver can read them. */
const count = (table: string, statuses: string) => `SELECT created_at / ${PART_MS} AS part, status, currency,
    count(*) AS payments, sum(amount / 100000000)::bigint AS amount_high, sum(amount % 100000000)::bigint AS amount_low
  FROM ${table} WHERE merchant_id = :merchant AND epoch = :epoch AND status IN (${statuses})
    AND created_at >= :from AND created_at < :end GROUP BY 1, 2, 3`;
const FINAL = {
  disbursement: count("disbursements", "'success', 'failed'"),
  checkout: count("checkouts", "'success', 'failed', 'cancelled'"),
};
const PENDING = { disbursement: count("disbursements", "'pending'"), checkout: count("checkouts", "'pending'") };
const MERCHANT = "SELECT epoch, (SELECT :now) + clock_offset AS now FROM merchants WHERE id = :merchant";

/**
 * Counts a merchant's payments when they are asked for (D106). No payment is created in a part of a day that is over, and a
 * final payment stays as it is. Such a part is therefore counted again only if fewer of its payments are pending.
 */
export function paymentCounts({ read }: Executor): FigureStore["readFigures"] {
  const answers = new Map<string, { at: number; figures: Promise<Figure[]> }>();
  const parts = new Map<string, Part>();

  async function counted({ merchantId: merchant, kind, from, to }: FiguresQuery, epoch: number, now: number) {
    const period = { merchant, epoch, from: from * DAY_MS, end: (to + 1) * DAY_MS };
    const open = await read({ text: PENDING[kind], values: period });
    const waiting = Map.groupBy(open, ({ part }) => part as number);
    const found = [...open];
    for (let start = period.from; start < Math.min(period.end, now + LATE_MS); start += PART_MS) {
      const name = `${merchant} ${epoch} ${kind} ${start}`;
      const pending = (waiting.get(start / PART_MS) ?? []).reduce((sum, { payments }) => sum + (payments as number), 0);
      let part = parts.get(name);
      if (part?.pending !== pending) {
        const values = { merchant, epoch, from: start, end: start + PART_MS };
        part = { pending, final: await read({ text: FINAL[kind], values }) };
        // An empty part is counted at once.
        if (part.final.length > 0 && start + PART_MS + LATE_MS <= now) keep(parts, name, part, MOST_PARTS);
        await nextTurn();
      }
      found.push(...part.final);
    }
    return found.map((row) => toFigure(row, PART_MS));
  }

  return async (query) => {
    const { merchantId, kind, from, to } = query;
    const [merchant] = await read({ text: MERCHANT, values: { merchant: merchantId } });
    if (!merchant) return [];
    const [epoch, now] = [merchant.epoch as number, merchant.now as number];
    const name = `${merchantId} ${epoch} ${kind} ${from} ${to}`;
    const answer = answers.get(name);
    if (answer && answer.at <= now && now < answer.at + KEPT_MS) return answer.figures;
    const figures = counted(query, epoch, now);
    keep(answers, name, { at: now, figures }, MOST_ANSWERS);
    figures.catch(() => answers.delete(name));
    return figures;
  };
}

/** Keeps a value, and forgets the oldest if there are too many. */
function keep<T>(kept: Map<string, T>, name: string, value: T, most: number): void {
  kept.delete(name);
  kept.set(name, value);
  if (kept.size > most) kept.delete(kept.keys().next().value!);
}
