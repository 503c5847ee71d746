import type { Housekeeping } from "../../domain/storage.ts";
import type { Context } from "./context.ts";
import type { Query } from "./database.ts";
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
      return count === 0 ? 0 : db.transaction((query) => prune(query, limit), { repeatable: true });
    },
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
