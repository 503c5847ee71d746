import type { Storage } from "../../domain/storage.ts";
import { recordAction } from "./audit.ts";
import { findReplayable } from "./events.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { given, LAST, type Executor } from "./query.ts";

/** How many deliveries a transaction schedules, so that no payment waits for long. */
const PER_STEP = 250;
/**
 * Skips deliveries that have changed since they were read. The queue makes each of the others ready when it is due: at the
 * latest when a retry was due anyway.
 */
const SCHEDULE = `UPDATE events AS e SET status = 'pending', step = 0, attempted_real = :now,
    next_attempt_at = least(coalesce(e.next_attempt_at, :now + given.delay), :now + given.delay)
  FROM :rows WHERE e.merchant_id = :merchant AND e.id = given.id AND e.status = given.status
    AND NOT e.ready AND e.leased_until IS NULL AND coalesce(e.attempted_real, 0) <= :decidedAt`;

/** Times are the only numbers of a filter. */
const textOf = (value: string | number): string => (typeof value === "number" ? new Date(value).toISOString() : value);

export function replays(executor: Executor): Pick<Storage, "countDeliveries" | "replayAll"> {
  const { write } = executor;
  return {
    async countDeliveries(merchantId, filter) {
      const rows = await findReplayable(executor, { ...filter, merchantId });
      const byHost = [...Map.groupBy(rows, ({ host }) => host as string)];
      const hosts = byHost.map(([host, of]) => ({ host, count: of.length }));
      return { count: rows.length, hosts: hosts.toSorted((a, b) => b.count - a.count) };
    },
    async replayAll({ merchantId, filter, pace, decidedAt = LAST }, actor) {
      const rows = await findReplayable(executor, { ...filter, merchantId });
      const conditions = Object.entries(filter).map(([name, value]) => [name, textOf(value)]);
      const details = { ...Object.fromEntries(conditions), pace: `${pace} per second` };
      await write(() => recordAction({ actor, action: "replay.start", merchantId, details }));
      const scheduled = rows
        .toReversed()
        .map(({ id, status }, index) => ({ id, status, delay: Math.floor((index * 1_000) / pace) }));
      let replayed = 0;
      for (let from = 0; from < scheduled.length; from += PER_STEP) {
        const values = scheduled.slice(from, from + PER_STEP);
        replayed += await write(function* () {
          yield* lockMerchant(merchantId, "shares");
          const named = { merchant: merchantId, decidedAt };
          const [changed] = yield [{ text: SCHEDULE, values: named, rows: given("events", values) }];
          return changed!.count;
        });
      }
      return replayed;
    },
  };
}
