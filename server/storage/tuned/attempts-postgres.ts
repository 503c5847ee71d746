import type { DeliveryQueue } from "../../domain/deliveries.ts";
import { ATTEMPT_COLUMNS } from "../columns.ts";
import { runAll } from "../portable/query.ts";
import type { Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { lockMerchants } from "../postgres/merchant-rows.ts";
import { ATTEMPTS_KEPT } from "./attempts-kept.ts";

type Recorded = Parameters<DeliveryQueue["recordAttempt"]>;

// The epoch and the token are compared in the code below. With conditions on them PostgreSQL, for as long as it has no
// statistics of a new table, may choose another index and read all events of the merchant. The order keeps transactions
// from waiting for each other in a circle.
const LOCK = `SELECT merchant_id, id, epoch, claimed, claim_token FROM events
  WHERE merchant_id = ANY($1::text[]) AND id = ANY($2::text[]) ORDER BY id FOR UPDATE`;
const { number: _, ...GIVEN } = { merchant_id: "text", ...ATTEMPT_COLUMNS };
const NAMES = Object.keys(GIVEN).join(", ");
/** An attempt whose token is known has been recorded already. */
const INSERT = `INSERT INTO attempts (${NAMES}, number) SELECT given.*, 1 + coalesce(kept.last, 0)
  FROM :rows
  CROSS JOIN LATERAL (SELECT max(a.number) AS last, bool_or(a.token = given.token) AS is_known FROM attempts a
    WHERE a.merchant_id = given.merchant_id AND a.event_id = given.event_id) AS kept
  WHERE kept.is_known IS NOT TRUE RETURNING merchant_id, event_id, number`;
const FORGET = `DELETE FROM attempts WHERE merchant_id = $1 AND event_id = $2 AND number <= $3`;
const NEXT = { merchant_id: "text", id: "text", status: "text", step: "bigint", at: "bigint", due: "bigint" };
const RELEASE = `UPDATE events e SET status = given.status, step = given.step, next_attempt_at = given.at,
    due_real = given.due, claimed = false
  FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id`;

/** Attempts that end while earlier attempts are being committed share a commit. */
export function attemptRecorder({ batched }: Context): DeliveryQueue["recordAttempt"] {
  const record = batched(
    (items: Recorded[], queries) =>
      queries.transaction((query) => recordAttempts(query, items), { items: items.length }),
    { concurrency: 1, largest: 256 },
  );
  return (...recorded) => record(recorded);
}

/** Logs attempts and releases their claims. Resolves with false for each claim that was no longer valid. */
async function recordAttempts(query: Query, items: readonly Recorded[]): Promise<boolean[]> {
  const [merchantIds, ids] = [items.map(([{ event }]) => event.merchantId), items.map(([{ event }]) => event.id)];
  const merchants = await lockMerchants(query, merchantIds, "shares");
  const { rows } = await query(LOCK, [[...new Set(merchantIds)], ids]);
  const events = new Map(rows.map((row) => [`${row.merchant_id} ${row.id}`, row]));
  const found = items.map(([claim, attempt, next]) => {
    const { id, merchantId } = claim.event;
    const row = events.get(`${merchantId} ${id}`);
    const merchant = merchants.get(merchantId);
    const isCurrent = row !== undefined && row.epoch === merchant?.epoch;
    const isValid = isCurrent && row.claimed === true && row.claim_token === claim.token;
    const { status, step, nextAttemptAt: at = null } = next;
    const due = at === null ? null : at - (merchant?.clockOffset ?? 0);
    const { at: begun, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
    return {
      isCurrent,
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
      next: { merchant_id: merchantId, id, status, step, at, due },
    };
  });
  const attempts = found.filter(({ isCurrent }) => isCurrent).map((each) => each.attempt);
  const released = found.filter(({ isValid }) => isValid).map((each) => each.next);
  const [inserted] = await runIn(
    query,
    runAll([
      { text: INSERT, rows: { columns: GIVEN, values: attempts } },
      { text: RELEASE, rows: { columns: NEXT, values: released } },
    ]),
  );
  const many = inserted!.rows.filter(({ number }) => Number(number) > ATTEMPTS_KEPT);
  await Promise.all(
    many.map((row) => query(FORGET, [row.merchant_id, row.event_id, Number(row.number) - ATTEMPTS_KEPT])),
  );
  return found.map(({ isValid }) => isValid);
}
