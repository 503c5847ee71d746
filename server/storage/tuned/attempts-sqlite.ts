import type { Claim, DeliveryQueue } from "../../domain/deliveries.ts";
import { optional } from "../rows.ts";
import { insertInto, type Context } from "../sqlite/context.ts";
import { ATTEMPTS_KEPT } from "../portable/event-rows.ts";

type Recorder = DeliveryQueue["recordAttempt"];

export function attemptRecorder({ db, writeUnflushed, merchantOf }: Context): Recorder {
  const selectEvent = db.prepare("SELECT merchant_id FROM events WHERE id = ? AND url IS NOT NULL");
  const logged = db.prepare(
    "SELECT max(number) AS number, max(token = ?) AS is_known FROM attempts WHERE event_id = ?",
  );
  const insert = insertInto(db, "attempts");
  const forget = db.prepare("DELETE FROM attempts WHERE event_id = ? AND number <= ?");
  const release = db.prepare(
    `UPDATE events SET status = ?, step = ?, next_attempt_at = ?, leased_until = NULL
     WHERE id = ? AND leased_until IS NOT NULL AND claim_token = ?`,
  );

  function logAttempt({ event, token }: Claim, attempt: Parameters<Recorder>[1]): void {
    const eventId = event.id;
    const { number: last, is_known: isKnown } = logged.get(token, eventId)!;
    if (isKnown === 1) return;
    const number = 1 + (optional<number>(last) ?? 0);
    const { at, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
    const result = { http_status: httpStatus ?? null, response_body: responseBody ?? null, error: error ?? null };
    insert({ event_id: eventId, number, at, sent_real: sentAt, latency_ms: latencyMs, ...result, token });
    forget.run(eventId, number - ATTEMPTS_KEPT);
  }

  return (claim, attempt, next) =>
    writeUnflushed(() => {
      const { event, token } = claim;
      const row = selectEvent.get(event.id);
      if (!row) return false;
      logAttempt(claim, attempt);
      const { status, step, nextAttemptAt } = next;
      const { clockOffset } = merchantOf(row.merchant_id as string)!;
      const due = nextAttemptAt === undefined ? null : nextAttemptAt - clockOffset;
      return release.run(status, step, due, event.id, token).changes === 1;
    });
}
