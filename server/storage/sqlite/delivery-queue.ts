import type { ClaimedDelivery, ClaimRequest, DeliveryQueue } from "../../domain/storage.ts";
import type { Context, Row } from "./context.ts";
import { eventReader } from "./event-rows.ts";
import { toMerchant, toSecrets } from "./merchants.ts";

/** Replays have no end, the log of a delivery has. */
const ATTEMPTS_KEPT = 100;

export function deliveryQueue({ db, write }: Context): DeliveryQueue {
  const toEvent = eventReader(db);
  const selectMerchant = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const selectEvent = db.prepare("SELECT * FROM events WHERE merchant_id = ? AND id = ? AND url IS NOT NULL");
  const free = "(claimed_until IS NULL OR claimed_until <= :now)";
  const dueMerchants = db.prepare(
    `SELECT id, :now + clock_offset AS until FROM merchants m WHERE (:merchant IS NULL OR id = :merchant) AND EXISTS
       (SELECT 1 FROM events WHERE merchant_id = m.id AND next_attempt_at <= :now + m.clock_offset AND ${free})
     ORDER BY id`,
  );
  // From host to host through the index: the work grows with the hosts, not with what is queued for them.
  const nextHost =
    "SELECT min(host) FROM events WHERE merchant_id = :merchant AND next_attempt_at IS NOT NULL AND host >";
  const dueHosts = db.prepare(
    `WITH RECURSIVE hosts (host) AS
       (${nextHost} :after UNION ALL SELECT (${nextHost} hosts.host) FROM hosts WHERE host IS NOT NULL)
     SELECT host FROM hosts WHERE EXISTS
       (SELECT 1 FROM events WHERE merchant_id = :merchant AND host = hosts.host AND next_attempt_at <= :until AND ${free})`,
  );
  const dueOfHost = db.prepare(
    `SELECT * FROM events WHERE merchant_id = :merchant AND host = :host AND next_attempt_at <= :until AND ${free}
     ORDER BY next_attempt_at LIMIT :limit`,
  );
  const claim = db.prepare("UPDATE events SET claimed_until = ? WHERE id = ?");
  const stillDue = db.prepare(
    `SELECT 1 FROM events WHERE id = ? AND next_attempt_at = ? AND (claimed_until IS NULL OR claimed_until <= ?)`,
  );
  const insertAttempt = db.prepare(
    `INSERT INTO attempts (event_id, number, at, sent_at, latency_ms, http_status, response_body, error)
     SELECT e.id, 1 + (SELECT coalesce(max(number), 0) FROM attempts WHERE event_id = e.id), ?, ?, ?, ?, ?, ? FROM events e WHERE e.id = ?`,
  );
  const forgetAttempts = db.prepare(
    "DELETE FROM attempts WHERE event_id = :id AND number <= (SELECT max(number) FROM attempts WHERE event_id = :id) - :kept",
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

  let lastMerchant = "";
  const lastHosts = new Map<string, string>();

  /** The hosts of a merchant with something due, beginning behind the one served last: none waits for ever for its turn. */
  function* hostsOf(due: { merchant: string; now: number; until: number }): Generator<string> {
    const begin = lastHosts.get(due.merchant) ?? "";
    for (const { host } of dueHosts.iterate({ ...due, after: begin })) yield host as string;
    for (const { host } of dueHosts.iterate({ ...due, after: "" })) {
      if ((host as string) > begin) return;
      yield host as string;
    }
  }

  /** The due deliveries, merchant by merchant in turn and host by host, as many of each as there is room for. */
  function dueRows({ now, merchantId, limit, room, roomOf }: ClaimRequest): Row[] {
    const found: Row[] = [];
    const taken = new Map<string, number>();
    for (const { id, until } of inTurn(dueMerchants.all({ now, merchant: merchantId ?? null }), lastMerchant)) {
      const merchant = id as string;
      const end = Math.min(limit, found.length + roomOf(merchant));
      if (found.length >= end) continue;
      for (const host of hostsOf({ merchant, now, until: until as number })) {
        const fit = Math.min(end - found.length, room(host) - (taken.get(host) ?? 0));
        if (fit <= 0) continue;
        const rows = dueOfHost.all({ merchant, host, now, until: until!, limit: fit });
        found.push(...rows);
        taken.set(host, (taken.get(host) ?? 0) + rows.length);
        lastHosts.set(merchant, host);
        lastMerchant = merchant;
        if (found.length >= end) break;
      }
    }
    return found;
  }

  return {
    async claimDeliveries(request) {
      const rows = dueRows(request);
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
        forgetAttempts.run({ id, kept: ATTEMPTS_KEPT });
        updateEvent.run(outcome.status, outcome.step, outcome.nextAttemptAt ?? null, id);
      });
    },
  };
}

/** Merchants in their order, beginning behind the one served last. */
function inTurn(merchants: Row[], last: string): Row[] {
  const first = merchants.findIndex(({ id }) => (id as string) > last);
  return first <= 0 ? merchants : [...merchants.slice(first), ...merchants.slice(0, first)];
}
