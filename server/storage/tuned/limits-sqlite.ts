import type { DatabaseSync } from "node:sqlite";
import type { DailySum } from "../limit-rows.ts";

const placeOf = (sum: DailySum) => [sum.merchant_id, sum.key_id, sum.day, sum.currency] as const;

/** Keeps the sums of days, inside the transaction of the insert. */
export function dailySums(db: DatabaseSync) {
  const select = db.prepare(`SELECT amount FROM daily_sums
    WHERE merchant_id = ? AND key_id = ? AND day = ? AND currency = ?`);
  const add = db.prepare(`INSERT INTO daily_sums (merchant_id, key_id, day, currency, amount)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET amount = daily_sums.amount + excluded.amount`);
  return {
    usedIn: (sum: DailySum) => (select.get(...placeOf(sum))?.amount as number | undefined) ?? 0,
    addToSum: (sum: DailySum) => void add.run(...placeOf(sum), sum.amount),
  };
}
