import type { SQLInputValue } from "node:sqlite";
import type { Actor } from "../../domain/audit.ts";
import { LISTENER_HOST } from "../../domain/events.ts";
import type { Claim, DeliveryQueue, Lane } from "../../domain/deliveries.ts";
import { sandboxTime } from "../../domain/time.ts";
import { optional } from "../rows.ts";
import { insertInto, type Context, type Row } from "./context.ts";
import { claimer } from "./claims.ts";

/** The number of attempts stored for each delivery. It is limited because replays are not. */
const ATTEMPTS_KEPT = 100;
const ATTEMPT_COLUMNS = [
  "event_id",
  "number",
  "at",
  "sent_real",
  "latency_ms",
  "http_status",
  "response_body",
  "error",
  "token",
];

/** Whether a retry is due, or a lease has ended. The first condition is the range of the index. */
const DUE = `due_real <= max(:now, :leased) AND due_real <= CASE claimed WHEN 1 THEN :leased ELSE :now END`;

export function deliveryQueue(context: Context): DeliveryQueue {
  const { db, write, writeUnflushed, now, leased, merchantOf, audit } = context;
  const { claimRow, claimLane } = claimer(context);
  const promote = (where: string, order: "due_real" | "next_attempt_at") =>
    db.prepare(
      `UPDATE events SET ready = 1, claimed = 0, due_real = NULL
       WHERE seq IN (SELECT seq FROM events WHERE ${where} ORDER BY ${order} LIMIT :limit)`,
    );
  const anyDue = db.prepare(`SELECT 1 FROM events WHERE ${DUE} LIMIT 1`);
  const promoteAll = promote(DUE, "due_real");
  const promoteOfMerchant = promote(
    "merchant_id = :merchant AND epoch = :epoch AND next_attempt_at <= :now + :offset AND " + DUE,
    "next_attempt_at",
  );
  const selectWaiting = `SELECT seq FROM events WHERE merchant_id = :merchant AND host = :host AND epoch = :epoch
     AND due_real IS NOT NULL AND claimed = 0 ORDER BY next_attempt_at LIMIT :limit`;
  const waiting = db.prepare(selectWaiting);
  const advance = db.prepare(
    `UPDATE events SET ready = 1, due_real = NULL, next_attempt_at = :at, step = max(step - 1, 0)
     WHERE seq IN (${selectWaiting})`,
  );
  const nextLane = db.prepare(
    `SELECT merchant_id, host FROM events WHERE ready = 1 AND (merchant_id, host) > (?, ?)
     ORDER BY merchant_id, host LIMIT 1`,
  );
  const selectEvent = db.prepare("SELECT * FROM events WHERE id = ? AND url IS NOT NULL");
  const restart = db.prepare(
    `UPDATE events SET status = 'pending', step = 0, next_attempt_at = ?, due_real = NULL, ready = 1, claimed = 0
     WHERE seq = ?`,
  );
  const renew = db.prepare("UPDATE events SET due_real = ? WHERE id = ? AND claimed = 1 AND claim_token = ?");
  const logged = db.prepare(
    "SELECT max(number) AS number, max(token = ?) AS is_known FROM attempts WHERE event_id = ?",
  );
  const insertAttempt = insertInto(db, "attempts", ATTEMPT_COLUMNS);
  const forgetAttempts = db.prepare("DELETE FROM attempts WHERE event_id = ? AND number <= ?");
  const release = db.prepare(
    `UPDATE events SET status = ?, step = ?, next_attempt_at = ?, due_real = ?, claimed = 0
     WHERE id = ? AND claimed = 1 AND claim_token = ?`,
  );

  /** Returns the merchant's delivery, unless a reset has deleted it. */
  function rowOf(merchantId: string, id: string): Row | undefined {
    const row = selectEvent.get(id);
    const isCurrent = row?.merchant_id === merchantId && merchantOf(merchantId)?.epoch === row.epoch;
    return isCurrent ? row : undefined;
  }

  const times = () => ({ now: now(), leased: leased() });
  const isUnderway = (row: Row) => row.claimed === 1 && (row.due_real as number) > leased();

  function recordReplay({ id, merchant_id: merchantId, status }: Row, actor: Actor): void {
    const details = { delivery: id as string, status: status as string };
    audit.record({ actor, action: "delivery.replay", merchantId: merchantId as string, details });
  }

  /** Makes a delivery due, at the first step of the schedule. */
  const makeReady = ({ merchant_id: merchantId, seq }: Row) =>
    restart.run(sandboxTime(merchantOf(merchantId as string)!, now()), seq!);

  function logAttempt({ event, token }: Claim, attempt: Parameters<DeliveryQueue["recordAttempt"]>[1]): void {
    const eventId = event.id;
    const { number: last, is_known: isKnown } = logged.get(token, eventId)!;
    if (isKnown === 1) return;
    const number = 1 + (optional<number>(last) ?? 0);
    const { at, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
    const result = { http_status: httpStatus ?? null, response_body: responseBody ?? null, error: error ?? null };
    insertAttempt({ event_id: eventId, number, at, sent_real: sentAt, latency_ms: latencyMs, ...result, token });
    forgetAttempts.run(eventId, number - ATTEMPTS_KEPT);
  }

  return {
    async promoteDue(limit, merchantId) {
      // Usually nothing is due. Avoid a transaction then.
      if (!anyDue.get(times())) return 0;
      if (merchantId === undefined) return writeUnflushed(() => Number(promoteAll.run({ ...times(), limit }).changes));
      return write(() => {
        const { epoch, clockOffset } = merchantOf(merchantId)!;
        const values = { merchant: merchantId, epoch, offset: clockOffset, ...times(), limit };
        return Number(promoteOfMerchant.run(values).changes);
      });
    },
    async readyLanes({ after, limit, merchantId }) {
      const lanes: Lane[] = [];
      let place: SQLInputValue[] = after ? [after.merchantId, after.host] : [merchantId ?? "", ""];
      while (lanes.length < limit) {
        const row = nextLane.get(...place);
        if (!row || (merchantId !== undefined && row.merchant_id !== merchantId)) break;
        lanes.push({ merchantId: row.merchant_id as string, host: row.host as string });
        place = [row.merchant_id!, row.host!];
      }
      return lanes;
    },
    async advanceRetries({ merchantId, host }, { least, limit }) {
      const merchant = merchantOf(merchantId);
      if (!merchant) return 0;
      const of = { merchant: merchantId, host, epoch: merchant.epoch };
      if (waiting.all({ ...of, limit: least }).length < least) return 0;
      return writeUnflushed(() => {
        const at = sandboxTime(merchantOf(merchantId)!, now());
        return Number(advance.run({ ...of, limit, at }).changes);
      });
    },
    claimDeliveries: (lanes, leaseMs) => writeUnflushed(() => lanes.flatMap((lane) => claimLane(lane, leaseMs))),
    claimDelivery: (merchantId, id, leaseMs, actor) =>
      write(() => {
        const row = rowOf(merchantId, id);
        if (row === undefined) return undefined;
        if (isUnderway(row)) return "claimed";
        recordReplay(row, actor);
        if (row.host !== LISTENER_HOST) return claimRow(row, leaseMs);
        makeReady(row);
        return "requested";
      }),
    requestReplay: (merchantId, id, actor) =>
      write(() => {
        const row = rowOf(merchantId, id);
        if (row === undefined) return "unknown";
        if (isUnderway(row)) return "claimed";
        recordReplay(row, actor);
        makeReady(row);
        return "requested";
      }),
    async renewClaims(claims, leaseMs) {
      if (claims.length === 0) return;
      await writeUnflushed(() => {
        for (const { event, token } of claims) renew.run(leased() + leaseMs, event.id, token);
      });
    },
    recordAttempt: (claim, attempt, next) =>
      writeUnflushed(() => {
        const { event, token } = claim;
        const row = selectEvent.get(event.id);
        const merchant = row && merchantOf(row.merchant_id as string);
        if (!merchant || merchant.epoch !== row.epoch) return false;
        logAttempt(claim, attempt);
        const { status, step, nextAttemptAt } = next;
        const due = nextAttemptAt === undefined ? null : nextAttemptAt - merchant.clockOffset;
        return release.run(status, step, nextAttemptAt ?? null, due, event.id, token).changes === 1;
      }),
  };
}
