import { unnested, type Context } from "./context.ts";
import type { Queries } from "./database.ts";
import { byText } from "./record-columns.ts";

interface Request {
  merchantId: string;
  windowMs: number;
}

/** One row per merchant, so nothing is left to clean up. */
const COUNT = `INSERT INTO request_counts AS r (merchant_id, time_window, count)
  SELECT n.merchant_id, :now / n.window_ms, n.count FROM ${unnested(["text", "bigint", "bigint"])}
    AS n (merchant_id, window_ms, count)
  ON CONFLICT (merchant_id) DO UPDATE SET time_window = excluded.time_window,
    count = excluded.count + CASE WHEN r.time_window = excluded.time_window THEN r.count ELSE 0 END
  RETURNING merchant_id, count`;

/** Returns a function that counts a merchant's requests to all processes. Requests that arrive together share a statement. */
export function requestCounter({ lane }: Context): (merchantId: string, windowMs: number) => Promise<number> {
  const count = lane((requests: Request[], db) => countAll(db, requests), { concurrency: 1, largest: 512 });
  return (merchantId, windowMs) => count({ merchantId, windowMs });
}

async function countAll(db: Queries, requests: readonly Request[]): Promise<number[]> {
  const byMerchant = Map.groupBy(requests, ({ merchantId }) => merchantId);
  const ids = [...byMerchant.keys()].toSorted(byText);
  const columns = [ids, ids.map((id) => byMerchant.get(id)![0]!.windowMs), ids.map((id) => byMerchant.get(id)!.length)];
  const { rows } = await db.transaction(async (query) => {
    // The counts need not survive a crash, so do not wait for the disk.
    await query("SET LOCAL synchronous_commit = off");
    return query(COUNT, columns);
  });
  const totals = new Map(rows.map((row) => [row.merchant_id as string, row.count as number]));
  // The requests of a merchant in this batch got the last numbers.
  return requests.map((request) => {
    const { merchantId } = request;
    const group = byMerchant.get(merchantId)!;
    return totals.get(merchantId)! - group.length + 1 + group.indexOf(request);
  });
}
