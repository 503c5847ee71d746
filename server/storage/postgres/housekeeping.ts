import { REQUESTS_KEPT, type Housekeeping, type Pruned, type PruneQuery } from "../../domain/storage.ts";
import { prunable, PRUNE_COLUMNS, prunedOf } from "../prunable.ts";
import type { Row } from "../rows.ts";
import type { Context } from "./context.ts";
import type { Queries, Query } from "./database.ts";
import { lockMerchant } from "./merchant-rows.ts";
import { finishRebases } from "./rebase.ts";

const KEYS = {
  disbursements: "merchants_reference",
  checkouts: "merchants_reference",
  customers: "phone_number",
  refusals: "merchants_reference",
} as const;
/** Attempts are found through their events, so they are deleted first. */
const STEPS = [
  `DELETE FROM attempts WHERE merchant_id = $1 AND event_id IN
     (SELECT id FROM events WHERE merchant_id = $1 AND epoch = $2 ORDER BY seq LIMIT $3)`,
  `DELETE FROM events WHERE merchant_id = $1 AND id IN
     (SELECT id FROM events WHERE merchant_id = $1 AND epoch = $2 ORDER BY seq LIMIT $3)`,
  ...Object.entries(KEYS).map(
    ([table, key]) => `DELETE FROM ${table} WHERE merchant_id = $1 AND epoch = $2 AND ${key} IN
     (SELECT ${key} FROM ${table} WHERE merchant_id = $1 AND epoch = $2 LIMIT $3)`,
  ),
];

export function housekeeping(context: Context): Housekeeping {
  const { db } = context;
  return {
    async prune(limit) {
      await finishRebases(context, { all: false });
      const { count } = await db.read("SELECT 1 FROM discarded_epochs LIMIT 1");
      const rows = count === 0 ? 0 : await db.transaction((query) => prune(query, limit), { repeatable: true });
      return rows + (await pruneRequests(db, limit));
    },
    pruneEvents: (asked) => db.transaction((query) => pruneEvents(query, asked), { repeatable: true }),
  };
}

async function prune(query: Query, limit: number): Promise<number> {
  const { rows } = await query(
    "SELECT * FROM discarded_epochs ORDER BY merchant_id, epoch LIMIT 1 FOR UPDATE SKIP LOCKED",
  );
  if (!rows[0]) return 0;
  const { merchant_id, epoch } = rows[0];
  const share = Math.ceil(limit / STEPS.length);
  const results = await Promise.all(STEPS.map((sql) => query(sql, [merchant_id, epoch, share])));
  const deleted = results.reduce((sum, { count }) => sum + count, 0);
  if (deleted === 0)
    await query("DELETE FROM discarded_epochs WHERE merchant_id = $1 AND epoch = $2", [merchant_id, epoch]);
  return deleted;
}

const OLD_REQUESTS = "at_real <= (SELECT :now) - $1::bigint";
const FORGET_REQUESTS = `WITH old AS MATERIALIZED (SELECT merchant_id, at_real, number, request_id FROM request_log
    WHERE ${OLD_REQUESTS} ORDER BY at_real LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM request_log r USING old WHERE r.merchant_id = old.merchant_id AND r.at_real = old.at_real
    AND r.number = old.number AND r.request_id = old.request_id`;

async function pruneRequests(db: Queries, limit: number): Promise<number> {
  const { forMs } = REQUESTS_KEPT;
  const old = await db.read(`SELECT 1 FROM request_log WHERE ${OLD_REQUESTS} LIMIT 1`, [forMs]);
  if (old.count === 0) return 0;
  return (await db.transaction((query) => query(FORGET_REQUESTS, [forMs, limit]), { repeatable: true })).count;
}

const SELECT = `SELECT ${PRUNE_COLUMNS} FROM events WHERE merchant_id = $1 AND epoch = $2 AND seq > $3
  ORDER BY seq LIMIT $4`;
const ATTEMPTS = `SELECT event_id, count(*) AS count, max(sent_real) AS last FROM attempts
  WHERE merchant_id = $1 AND event_id = ANY($2::text[]) GROUP BY event_id`;
/** A replay may have begun since the event was selected. */
const FORGET = `DELETE FROM events WHERE merchant_id = $1 AND id = ANY($2::text[])
  AND (url IS NULL OR status = 'delivered') AND NOT ready AND NOT claimed RETURNING id`;

async function pruneEvents(query: Query, asked: PruneQuery): Promise<Pruned> {
  const { merchantId, before, after, limit, dryRun } = asked;
  const { epoch } = await lockMerchant(query, merchantId, "shares");
  const { rows } = await query(SELECT, [merchantId, epoch, after, limit]);
  const { candidates, next } = prunable(rows, asked);
  const idsOf = (events: readonly Row[]) => [merchantId, events.map(({ id }) => id)];
  const attempts = new Map((await query(ATTEMPTS, idsOf(candidates))).rows.map((row) => [row.event_id, row]));
  const old = candidates.filter(({ id }) => ((attempts.get(id)?.last ?? 0) as number) < before);
  if (dryRun) {
    const count = old.reduce((sum, { id }) => sum + ((attempts.get(id)?.count ?? 0) as number), 0);
    return prunedOf(old, count, next);
  }
  const deleted = new Set((await query(FORGET, idsOf(old))).rows.map(({ id }) => id));
  const gone = old.filter(({ id }) => deleted.has(id));
  const { count } = await query(
    "DELETE FROM attempts WHERE merchant_id = $1 AND event_id = ANY($2::text[])",
    idsOf(gone),
  );
  return prunedOf(gone, count, next);
}
