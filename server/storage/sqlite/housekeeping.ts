import { REQUESTS_KEPT, type Housekeeping } from "../../domain/storage.ts";
import { prunable, PRUNE_COLUMNS, prunedOf } from "../prunable.ts";
import type { Context } from "./context.ts";

/** Attempts are found through their events, so they are deleted first. */
const STEPS = [
  `DELETE FROM attempts WHERE event_id IN
     (SELECT id FROM events WHERE merchant_id = ?1 AND epoch = ?2 ORDER BY seq LIMIT ?3)`,
  "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE merchant_id = ?1 AND epoch = ?2 ORDER BY seq LIMIT ?3)",
  ...["disbursements", "checkouts"].map(
    (table) =>
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE merchant_id = ?1 AND epoch = ?2 LIMIT ?3)`,
  ),
  `DELETE FROM customers WHERE merchant_id = ?1 AND epoch = ?2 AND phone_number IN
     (SELECT phone_number FROM customers WHERE merchant_id = ?1 AND epoch = ?2 LIMIT ?3)`,
  `DELETE FROM refusals WHERE merchant_id = ?1 AND epoch = ?2 AND merchants_reference IN
     (SELECT merchants_reference FROM refusals WHERE merchant_id = ?1 AND epoch = ?2 LIMIT ?3)`,
];

export function housekeeping(context: Context): Housekeeping {
  const { db, write, writeApart, now } = context;
  const selectDiscarded = db.prepare("SELECT merchant_id, epoch FROM discarded_epochs LIMIT 1");
  const forget = db.prepare("DELETE FROM discarded_epochs WHERE merchant_id = ? AND epoch = ?");
  const steps = STEPS.map((sql) => db.prepare(sql));

  const anyOldRequest = db.prepare("SELECT 1 FROM request_log WHERE at_real <= ? LIMIT 1");
  const forgetRequests = db.prepare(
    `DELETE FROM request_log WHERE (merchant_id, at_real, number, request_id) IN
       (SELECT merchant_id, at_real, number, request_id FROM request_log WHERE at_real <= ? LIMIT ?)`,
  );

  async function pruneResets(limit: number): Promise<number> {
    if (!selectDiscarded.get()) return 0;
    return write(() => {
      const row = selectDiscarded.get();
      if (!row) return 0;
      const [merchant, epoch] = [row.merchant_id as string, row.epoch as number];
      const share = Math.ceil(limit / steps.length);
      const deleted = steps.reduce((sum, step) => sum + Number(step.run(merchant, epoch, share).changes), 0);
      if (deleted === 0) forget.run(merchant, epoch);
      return deleted;
    });
  }

  async function pruneRequests(limit: number): Promise<number> {
    const before = now() - REQUESTS_KEPT.forMs;
    if (!anyOldRequest.get(before)) return 0;
    return writeApart(() => Number(forgetRequests.run(before, limit).changes));
  }

  return {
    prune: async (limit) => (await pruneResets(limit)) + (await pruneRequests(limit)),
    pruneEvents: eventPruner(context),
  };
}

function eventPruner({ db, write, merchantOf }: Context): Housekeeping["pruneEvents"] {
  const select = db.prepare(
    `SELECT ${PRUNE_COLUMNS} FROM events WHERE merchant_id = ? AND epoch = ? AND seq > ? ORDER BY seq LIMIT ?`,
  );
  const attemptsOf = db.prepare("SELECT count(*) AS count, max(sent_real) AS last FROM attempts WHERE event_id = ?");
  const forgetAttempts = db.prepare("DELETE FROM attempts WHERE event_id = ?");
  const forget = db.prepare("DELETE FROM events WHERE seq = ?");

  return (query) =>
    write(() => {
      const { merchantId, before, after, limit, dryRun } = query;
      const rows = select.all(merchantId, merchantOf(merchantId)?.epoch ?? -1, after, limit);
      const { candidates, next } = prunable(rows, query);
      const found = candidates
        .map((row) => ({ row, attempts: attemptsOf.get(row.id as string)! }))
        .filter(({ attempts: { last } }) => last === null || (last as number) < before);
      for (const { row } of dryRun ? [] : found) {
        forgetAttempts.run(row.id as string);
        forget.run(row.seq as number);
      }
      const attempts = found.reduce((sum, each) => sum + (each.attempts.count as number), 0);
      return prunedOf(
        found.map(({ row }) => row),
        attempts,
        next,
      );
    });
}
