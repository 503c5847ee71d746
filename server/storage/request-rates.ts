import type { MerchantStore } from "../domain/merchants.ts";
import { given, type Executor, type Work } from "./portable/query.ts";
import { byText } from "./postgres/text.ts";

/**
 * Takes tokens from merchants' buckets, one for each request. There is one row per merchant, so no old rows have to be
 * deleted. The 0.01 makes up for rounding errors.
 */
const TAKE = `INSERT INTO request_rates AS r (merchant_id, full_at, interval_ms, granted)
  SELECT merchant_id, :now + least(count, per_second) * 1000.0 / per_second, 1000.0 / per_second, least(count, per_second)
  FROM :rows
  ON CONFLICT (merchant_id) DO UPDATE SET (full_at, interval_ms, granted) = (
    SELECT start + taken * excluded.interval_ms, excluded.interval_ms, taken
    FROM greatest(r.full_at, :now) AS start,
      least(excluded.granted, greatest(0, floor((:now + 1000 - start) / excluded.interval_ms + 0.01))) AS taken)
  RETURNING merchant_id, granted`;
/** The state need not survive a crash, so do not wait for the disk. */
const UNFLUSHED = "SET LOCAL synchronous_commit = off";

type Args = Parameters<MerchantStore["takeRequest"]>;

function* takeAll(requests: readonly Args[]): Work<boolean[]> {
  const byMerchant = Map.groupBy(requests, ([merchantId]) => merchantId);
  const values = [...byMerchant].map(([id, all]) => ({ merchant_id: id, per_second: all[0]![1], count: all.length }));
  const sorted = values.toSorted((a, b) => byText(a.merchant_id, b.merchant_id));
  const [, taken] = yield [{ text: UNFLUSHED }, { text: TAKE, rows: given("request_rates", sorted) }];
  const left = new Map(taken!.rows.map((row) => [row.merchant_id as string, row.granted as number]));
  return requests.map(([merchantId]) => {
    const granted = left.get(merchantId)!;
    left.set(merchantId, granted - 1);
    return granted > 0;
  });
}

/** Returns a function that applies a merchant's rate limit across all servers of a PostgreSQL database. */
export function sharedRates({ together }: Pick<Executor, "together">): MerchantStore["takeRequest"] {
  const take = together(takeAll, { largest: 512 });
  return (...asked) => take(asked);
}

/** Returns a function that applies a merchant's rate limit in SQLite. Only one server uses the file, so memory is enough. */
export function memoryRates(now: () => number): MerchantStore["takeRequest"] {
  // When each merchant's bucket of requests is full again.
  const fullAgain = new Map<string, number>();
  return async (merchantId, perSecond) => {
    const time = now();
    const interval = 1000 / perSecond;
    const fullAt = Math.max(fullAgain.get(merchantId) ?? time, time) + interval;
    // A hundredth of a request makes up for rounding.
    if (fullAt > time + 1000 + interval / 100) return false;
    fullAgain.set(merchantId, fullAt);
    return true;
  };
}
