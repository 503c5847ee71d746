import { unnested, type Context } from "../postgres/context.ts";
import type { Queries } from "../postgres/database.ts";
import { byText } from "../postgres/text.ts";

interface Request {
  merchantId: string;
  perSecond: number;
}

/**
 * Takes requests from the buckets of merchants. There is one row per merchant, so no old rows have to be deleted. A
 * hundredth of a request is added because of rounding.
 */
const TAKE = `INSERT INTO request_rates AS r (merchant_id, full_at, interval_ms, granted)
  SELECT merchant_id, :now + least(count, per_second) * 1000.0 / per_second, 1000.0 / per_second, least(count, per_second)
  FROM ${unnested(["text", "bigint", "bigint"])} AS n (merchant_id, per_second, count)
  ON CONFLICT (merchant_id) DO UPDATE SET (full_at, interval_ms, granted) = (
    SELECT start + taken * excluded.interval_ms, excluded.interval_ms, taken
    FROM greatest(r.full_at, :now) AS start,
      least(excluded.granted, greatest(0, floor((:now + 1000 - start) / excluded.interval_ms + 0.01))) AS taken)
  RETURNING merchant_id, granted`;

/** Returns a function that applies a merchant's rate limit to all processes. Requests that arrive together share a statement. */
export function requestRates({ batched }: Context): (merchantId: string, perSecond: number) => Promise<boolean> {
  const take = batched((requests: Request[], db) => takeAll(db, requests), { concurrency: 1, largest: 512 });
  return (merchantId, perSecond) => take({ merchantId, perSecond });
}

async function takeAll(db: Queries, requests: readonly Request[]): Promise<boolean[]> {
  const byMerchant = Map.groupBy(requests, ({ merchantId }) => merchantId);
  const ids = [...byMerchant.keys()].toSorted(byText);
  const columns = [
    ids,
    ids.map((id) => byMerchant.get(id)![0]!.perSecond),
    ids.map((id) => byMerchant.get(id)!.length),
  ];
  const { rows } = await db.transaction(
    async (query) => {
      // The state need not survive a crash, so do not wait for the disk.
      await query("SET LOCAL synchronous_commit = off");
      return query(TAKE, columns);
    },
    { items: requests.length },
  );
  const left = new Map(rows.map((row) => [row.merchant_id as string, row.granted as number]));
  return requests.map(({ merchantId }) => {
    const granted = left.get(merchantId)!;
    left.set(merchantId, granted - 1);
    return granted > 0;
  });
}
