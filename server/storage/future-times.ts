import { CLOCKS_AGREE_MS, type Clock } from "../domain/clock.ts";
import { LONGEST_LINK_MS } from "../domain/sign-in.ts";
import { LONGEST_REPLAY_MS } from "../domain/webhooks.ts";

/**
 * Returns the statements that correct times that were written while a clock was ahead. Without the correction, payments
 * would wait too long for their final status, and webhooks for their next attempt. Right times do not change. The
 * statements may be repeated.
 * @param now SQL of real time
 */
export function futureTimes(now: string): string[] {
  const future = `${now} + ${CLOCKS_AGREE_MS}`;
  const settlements = ["disbursements", "checkouts"].map(
    // The time at which the record falls due was set relative to the time of the last change.
    (table) => `UPDATE ${table} SET due_at = ${now} + due_at - (updated_at - m.clock_offset) FROM merchants m
      WHERE m.id = ${table}.merchant_id AND due_at > ${future} AND updated_at - m.clock_offset > ${future}`,
  );
  return [
    ...settlements,
    `UPDATE events SET next_attempt_at = ${now} WHERE next_attempt_at > ${future} AND NOT ready AND leased_until IS NULL
       AND (EXISTS (SELECT 1 FROM attempts a
         WHERE a.merchant_id = events.merchant_id AND a.event_id = events.id AND a.sent_real > ${future})
         OR (step = 0 AND next_attempt_at > ${now} + ${LONGEST_REPLAY_MS}))`,
    // What waits for a rail comes next. No wall clock measures doubt, so that doubt does not end earlier.
    `UPDATE handovers SET next_attempt_at = ${now}
     WHERE next_attempt_at > ${future} AND NOT ready AND leased_until IS NULL AND EXISTS (SELECT 1 FROM exchanges x
         WHERE x.merchant_id = handovers.merchant_id AND x.handover_id = handovers.id AND x.at_real > ${future})`,
    `UPDATE handovers SET next_attempt_at = ${now} WHERE state <> 'closed' AND ready AND next_attempt_at > ${future}`,
    `UPDATE handovers SET attention_real = ${now} WHERE attention_real > ${future}`,
    // Records that are created from now on must be erased in their turn.
    `UPDATE erasures SET next_created_at = ${now} WHERE next_created_at > ${now}`,
    // A session must not last longer than intended. People who signed in while the clock was ahead sign in again.
    `DELETE FROM dashboard_sessions WHERE created_real > ${future}`,
    `DELETE FROM dashboard_links WHERE expires_real > ${future} + ${LONGEST_LINK_MS}`,
  ];
}

/** Returns a function that corrects times at its first call, and whenever time has gone back since its last call. */
export function correction(clock: Pick<Clock, "now">, correct: () => Promise<unknown>): () => Promise<void> {
  let latest = Infinity;
  let running = false;
  return async () => {
    const now = clock.now();
    if (running || latest - now <= CLOCKS_AGREE_MS) {
      latest = Math.max(latest, now);
      return;
    }
    running = true;
    try {
      await correct();
      latest = now;
    } catch {
      // The storage reports why it does not work, and the next call tries again.
    } finally {
      running = false;
    }
  };
}
