import { CLOCKS_AGREE_MS, type Clock } from "../domain/clock.ts";
import { runAll, type Executor } from "./portable/query.ts";

const NOW = "(SELECT :now)";
const FUTURE = `${NOW} + ${CLOCKS_AGREE_MS}`;

/** Correct times that were written while a clock was ahead. Right times do not change. The statements may be repeated. */
const CORRECTIONS = [
  ...["disbursements", "checkouts"].map(
    // The time at which the record falls due was set relative to the time of the last change.
    (table) => `UPDATE ${table} SET due_at = ${NOW} + due_at - (updated_at - m.clock_offset) FROM merchants m
      WHERE m.id = ${table}.merchant_id AND due_at > ${FUTURE} AND updated_at - m.clock_offset > ${FUTURE}`,
  ),
  `UPDATE events SET next_attempt_at = ${NOW} WHERE next_attempt_at > ${FUTURE} AND ready = false AND leased_until IS NULL
    AND attempted_real > ${FUTURE}`,
  // What waits for a rail comes next. No wall clock measures doubt, so that doubt does not end earlier.
  `UPDATE handovers SET next_attempt_at = ${NOW} WHERE next_attempt_at > ${FUTURE} AND CASE ready
    WHEN true THEN state <> 'closed' ELSE leased_until IS NULL AND exchanged_real > ${FUTURE} END`,
  `UPDATE handovers SET attention_real = ${NOW} WHERE attention_real > ${FUTURE}`,
  // Records that are created from now on must be erased in their turn.
  `UPDATE erasures SET next_created_at = ${NOW} WHERE next_created_at > ${NOW}`,
  // Access must not last longer than intended. People who signed in while the clock was ahead sign in again.
  `DELETE FROM dashboard_access WHERE created_real > ${FUTURE}`,
];
/** Processes on PostgreSQL share limits. A rate is full again after a second at most. */
const RATES = `DELETE FROM request_rates WHERE full_at > ${NOW} + 2000`;

/**
 * Returns a function that corrects times at its first call, and whenever time has gone back since its last call. Without
 * this, payments would wait too long for their final status, and webhooks for their next attempt.
 */
export function correction({ database, write }: Executor, clock: Pick<Clock, "now">): () => Promise<void> {
  const statements = (database === "postgres" ? [...CORRECTIONS, RATES] : CORRECTIONS).map((text) => ({ text }));
  let latest = Infinity;
  return async () => {
    const now = clock.now();
    const isBehind = latest - now > CLOCKS_AGREE_MS;
    latest = isBehind ? now : Math.max(latest, now);
    // If the storage does not work, it reports why, and the next call tries again.
    if (isBehind) await write(() => runAll(statements), { idempotent: true }).catch(() => (latest = Infinity));
  };
}
