import type { ClaimedDelivery, ClaimRequest, DeliveryQueue } from "../storage.ts";
import type { Context, Row } from "./context.ts";
import { eventReader } from "./event-rows.ts";
import { toMerchant, toSecrets } from "./merchants.ts";

export function deliveryQueue({ db, write }: Context): DeliveryQueue {
  const toEvent = eventReader(db);
  const selectMerchant = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const selectEvent = db.prepare("SELECT * FROM events WHERE merchant_id = ? AND id = ? AND url IS NOT NULL");
  // Hosts one by one through the index: the work grows with the hosts, not with what is queued for them.
  const nextHost = db.prepare(
    "SELECT host FROM events WHERE next_attempt_at IS NOT NULL AND host > ? ORDER BY host LIMIT 1",
  );
  const dueOfHost = db.prepare(
    `SELECT e.* FROM events e JOIN merchants m ON m.id = e.merchant_id
     WHERE e.host = :host AND e.next_attempt_at <= :now + (SELECT max(clock_offset) FROM merchants)
       AND e.next_attempt_at <= :now + m.clock_offset AND (e.claimed_until IS NULL OR e.claimed_until <= :now)
       AND (:merchant IS NULL OR e.merchant_id = :merchant)
     ORDER BY e.next_attempt_at LIMIT :limit`,
  );
  const claim = db.prepare("UPDATE events SET claimed_until = ? WHERE id = ?");
  const stillDue = db.prepare(
    `SELECT 1 FROM events WHERE id = ? AND next_attempt_at = ? AND (claimed_until IS NULL OR claimed_until <= ?)`,
  );
  const insertAttempt = db.prepare(
    `INSERT INTO attempts (event_id, number, at, sent_at, latency_ms, http_status, response_body, error)
     SELECT e.id, 1 + (SELECT count(*) FROM attempts WHERE event_id = e.id), ?, ?, ?, ?, ?, ? FROM events e WHERE e.id = ?`,
  );
  const updateEvent = db.prepare(
    "UPDATE events SET status = ?, step = ?, next_attempt_at = ?, claimed_until = NULL WHERE id = ?",
  );

  function claimRow(row: Row, leaseUntil: number): ClaimedDelivery {
    claim.run(leaseUntil, row.id as string);
    const merchant = selectMerchant.get(row.merchant_id as string)!;
    return {
      event: toEvent(row),
      url: row.url as string,
      step: row.step as number,
      merchant: toMerchant(merchant),
      secrets: toSecrets(merchant),
    };
  }

  let lastHost = "";
  const after = (host: string) => nextHost.get(host)?.host as string | undefined;

  /** All hosts with something to come, beginning behind the one served last: none waits for ever for its turn. */
  function* hosts(): Generator<string> {
    const begin = lastHost;
    for (let host = after(begin); host !== undefined; host = after(host)) yield host;
    for (let host = after(""); host !== undefined && host <= begin; host = after(host)) yield host;
  }

  /** The due deliveries, host by host, as many of each as there is room for. */
  function* dueRows({ now, merchantId, limit, room }: ClaimRequest): Generator<Row> {
    let left = limit;
    for (const host of hosts()) {
      const fit = Math.min(left, room(host));
      if (fit <= 0) continue;
      const rows = dueOfHost.all({ host, now, merchant: merchantId ?? null, limit: fit });
      if (rows.length > 0) lastHost = host;
      yield* rows;
      left -= rows.length;
      if (left <= 0) return;
    }
  }

  return {
    async claimDeliveries(request) {
      const rows = [...dueRows(request)];
      // Most looks find nothing: those take no transaction.
      if (rows.length === 0) return [];
      return write(() =>
        rows
          .filter((row) => stillDue.get(row.id as string, row.next_attempt_at!, request.now))
          .map((row) => claimRow(row, request.leaseUntil)),
      );
    },
    claimDelivery: (merchantId, id, now, leaseUntil) =>
      write(() => {
        const row = selectEvent.get(merchantId, id);
        if (!row) return undefined;
        if (row.claimed_until !== null && (row.claimed_until as number) > now) return "claimed";
        return claimRow(row, leaseUntil);
      }),
    async recordAttempt(id, { at, sentAt, latencyMs, httpStatus, responseBody, error }, outcome) {
      await write(() => {
        insertAttempt.run(at, sentAt, latencyMs, httpStatus ?? null, responseBody ?? null, error ?? null, id);
        updateEvent.run(outcome.status, outcome.step, outcome.nextAttemptAt ?? null, id);
      });
    },
  };
}
