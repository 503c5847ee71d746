import type { Claim, DeliveryQueue, NextStep } from "../../domain/deliveries.ts";
import type { Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { lockMerchant } from "../postgres/merchant-rows.ts";
import { ATTEMPTS_KEPT } from "./attempts-kept.ts";

const INSERT = `INSERT INTO attempts
    (merchant_id, event_id, number, at, sent_real, latency_ms, http_status, response_body, error, token)
  SELECT $1, $2, 1 + coalesce(max(number), 0), $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::text, $8::text, $9::bigint
  FROM attempts WHERE merchant_id = $1 AND event_id = $2 HAVING bool_or(token = $9) IS NOT TRUE`;
const FORGET = `DELETE FROM attempts WHERE merchant_id = $1 AND event_id = $2
  AND number <= (SELECT max(number) FROM attempts WHERE merchant_id = $1 AND event_id = $2) - ${ATTEMPTS_KEPT}`;
const RELEASE = `UPDATE events SET status = $3, step = $4, next_attempt_at = $5, due_real = $6, claimed = false
  WHERE merchant_id = $1 AND id = $2`;
// The epoch and the token are compared in the code below. With conditions on them PostgreSQL, for as long as it has no
// statistics of a new table, may choose another index and read all events of the merchant.
const LOCK = "SELECT epoch, claimed, claim_token FROM events WHERE merchant_id = $1 AND id = $2 FOR UPDATE";

export const attemptRecorder =
  ({ db }: Context): DeliveryQueue["recordAttempt"] =>
  (claim, attempt, next) =>
    db.transaction((query) => recordAttempt(query, claim, attempt, next));

/**
 * Logs an attempt and releases its claim. Resolves with false if the claim was no longer valid.
 */
async function recordAttempt(
  query: Query,
  { event, token }: Claim,
  attempt: Parameters<DeliveryQueue["recordAttempt"]>[1],
  { status, step, nextAttemptAt }: NextStep,
): Promise<boolean> {
  const key = [event.merchantId, event.id];
  const { epoch, clockOffset } = await lockMerchant(query, event.merchantId, "shares");
  const [row] = (await query(LOCK, key)).rows;
  if (row?.epoch !== epoch) return false;
  const { at, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
  const due = nextAttemptAt === undefined ? null : nextAttemptAt - clockOffset;
  const isValid = row.claimed === true && row.claim_token === token;
  await Promise.all([
    query(INSERT, [...key, at, sentAt, latencyMs, httpStatus ?? null, responseBody ?? null, error ?? null, token]),
    query(FORGET, key),
    ...(isValid ? [query(RELEASE, [...key, status, step, nextAttemptAt ?? null, due])] : []),
  ]);
  return isValid;
}
