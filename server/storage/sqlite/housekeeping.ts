import type { Housekeeping } from "../../domain/storage.ts";
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

export function housekeeping({ db, write }: Context): Housekeeping {
  const selectDiscarded = db.prepare("SELECT merchant_id, epoch FROM discarded_epochs LIMIT 1");
  const forget = db.prepare("DELETE FROM discarded_epochs WHERE merchant_id = ? AND epoch = ?");
  const steps = STEPS.map((sql) => db.prepare(sql));

  return {
    async prune(limit) {
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
    },
  };
}
