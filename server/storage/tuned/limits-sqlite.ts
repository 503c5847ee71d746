import type { DailySum, KeyRow } from "../limit-rows.ts";
import { limitsOf, optional, type StoredMerchant } from "../rows.ts";
import type { Context } from "../sqlite/context.ts";

const placeOf = (sum: DailySum) => [sum.merchant_id, sum.epoch, sum.key_id, sum.day, sum.currency] as const;

/** Reads what limits a new payment, and keeps the sums of days, inside the transaction of the insert. */
export function limits({ db, merchantOf }: Pick<Context, "db" | "merchantOf">) {
  const selectMerchant = db.prepare("SELECT merchant_state, limits FROM merchants WHERE id = ?");
  const selectKey = db.prepare("SELECT limits, created_by FROM api_keys WHERE id = ?");
  const select = db.prepare(`SELECT amount FROM daily_sums
    WHERE merchant_id = ? AND epoch = ? AND key_id = ? AND day = ? AND currency = ?`);
  const add = db.prepare(`INSERT INTO daily_sums (merchant_id, epoch, key_id, day, currency, amount)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET amount = daily_sums.amount + excluded.amount`);

  return {
    /** The merchant with the state and limits of this moment: the cache may not know yet what another process wrote. */
    currentOf(id: string): StoredMerchant {
      const { state: _, limits: __, ...merchant } = merchantOf(id)!;
      const row = selectMerchant.get(id)!;
      const state = optional<NonNullable<StoredMerchant["state"]>>(row.merchant_state);
      return { ...merchant, ...(state && { state }), ...limitsOf(row.limits) };
    },
    keyOf: (id: string | undefined): KeyRow => (id === undefined ? undefined : selectKey.get(id)),
    usedIn: (sum: DailySum) => (select.get(...placeOf(sum))?.amount as number | undefined) ?? 0,
    addToSum: (sum: DailySum) => void add.run(...placeOf(sum), sum.amount),
  };
}
