import type { DeliveryQueue } from "../../domain/deliveries.ts";
import { columnsOf } from "../columns.ts";
import { lockMerchants } from "../portable/locked-merchant.ts";
import { run, runAll, type Work } from "../portable/query.ts";
import type { Context } from "../postgres/context.ts";
import { runIn } from "../postgres/executor.ts";
import { ATTEMPTS_KEPT } from "../portable/event-rows.ts";

type Recorded = Parameters<DeliveryQueue["recordAttempt"]>;

// The token is compared in the code below. With a condition on it PostgreSQL, for as long as it has no
// statistics of a new table, may choose another index and read all events of the merchant. The order keeps transactions
// from waiting for each other in a circle.
const LOCK = `SELECT merchant_id, id, leased_until, claim_token FROM events
  WHERE merchant_id = ANY(:merchants::text[]) AND id = ANY(:ids::text[]) ORDER BY id FOR UPDATE`;
const { number: _, ...GIVEN } = columnsOf("attempts");
const NAMES = Object.keys(GIVEN).join(", ");
/** An attempt whose token is known has been recorded already. */
const INSERT = `INSERT INTO attempts (${NAMES}, number) SELECT given.*, 1 + coalesce(kept.last, 0)
  FROM :rows
  CROSS JOIN LATERAL (SELECT max(a.number) AS last, bool_or(a.token = given.token) AS is_known FROM attempts a
    WHERE a.merchant_id = given.merchant_id AND a.event_id = given.event_id) AS kept
  WHERE kept.is_known IS NOT TRUE RETURNING merchant_id, event_id, number`;
const FORGET = "DELETE FROM attempts WHERE merchant_id = :merchant AND event_id = :event AND number <= :until";
const NEXT = { merchant_id: "text", id: "text", status: "text", step: "bigint", due: "bigint" };
const RELEASE = `UPDATE events e SET status = given.status, step = given.step, next_attempt_at = given.due,
    leased_until = NULL
  FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id`;

/** Attempts that end while earlier attempts are being committed share a commit. */
export function attemptRecorder({ batched }: Context): DeliveryQueue["recordAttempt"] {
  const record = batched(
    (items: Recorded[], queries) =>
      queries.transaction((query) => runIn(query, recordAttempts(items)), { items: items.length }),
    { concurrency: 1, largest: 256 },
  );
  return (...recorded) => record(recorded);
}

/** Logs attempts and releases their claims. Resolves with false for each claim that was no longer valid. */
function* recordAttempts(items: readonly Recorded[]): Work<boolean[]> {
  const [merchantIds, ids] = [items.map(([{ event }]) => event.merchantId), items.map(([{ event }]) => event.id)];
  const merchants = yield* lockMerchants(merchantIds, "shares");
  const { rows } = yield* run(LOCK, { merchants: [...new Set(merchantIds)], ids });
  const events = new Map(rows.map((row) => [`${row.merchant_id} ${row.id}`, row]));
  const found = items.map(([claim, attempt, next]) => {
    const { id, merchantId } = claim.event;
    const row = events.get(`${merchantId} ${id}`);
    const merchant = merchants.get(merchantId);
    const isKnown = row !== undefined;
    const isValid = isKnown && row.leased_until !== null && row.claim_token === claim.token;
    const { status, step, nextAttemptAt } = next;
    const due = nextAttemptAt === undefined ? null : nextAttemptAt - (merchant?.clockOffset ?? 0);
    const { at: begun, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
    return {
      isKnown,
      isValid,
      attempt: {
        merchant_id: merchantId,
        event_id: id,
        at: begun,
        sent_real: sentAt,
        latency_ms: latencyMs,
        http_status: httpStatus ?? null,
        response_body: responseBody ?? null,
        error: error ?? null,
        token: claim.token,
      },
      next: { merchant_id: merchantId, id, status, step, due },
    };
  });
  const attempts = found.filter(({ isKnown }) => isKnown).map((each) => each.attempt);
  const released = found.filter(({ isValid }) => isValid).map((each) => each.next);
  const [inserted] = yield [
    { text: INSERT, rows: { columns: GIVEN, values: attempts } },
    { text: RELEASE, rows: { columns: NEXT, values: released } },
  ];
  const forgotten = inserted!.rows
    .map((row) => ({
      merchant: row.merchant_id as string,
      event: row.event_id as string,
      until: (row.number as number) - ATTEMPTS_KEPT,
    }))
    .filter(({ until }) => until > 0);
  yield* runAll(forgotten.map((values) => ({ text: FORGET, values })));
  return found.map(({ isValid }) => isValid);
}
