import type { SQLInputValue } from "node:sqlite";
import type { Actor } from "../../domain/audit.ts";
import type { ClaimedDelivery, DeliveryQueue, Lane, LaneClaim } from "../../domain/storage.ts";
import { optional } from "../rows.ts";
import { insertInto, type Context, type Row } from "./context.ts";
import { sandboxTime } from "../../domain/time.ts";
import { toEvent } from "../event-rows.ts";
import { secretReader } from "./secrets.ts";

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
];

export function deliveryQueue({ db, write, writeUnflushed, now, merchantOf, audit }: Context): DeliveryQueue {
  const secretsOf = secretReader(db);
  const promote = (where: string, order: "due_real" | "next_attempt_at") =>
    db.prepare(
      `UPDATE events SET ready = 1, claimed = 0, due_real = NULL
       WHERE seq IN (SELECT seq FROM events WHERE ${where} ORDER BY ${order} LIMIT :limit)`,
    );
  const anyDue = db.prepare("SELECT 1 FROM events WHERE due_real <= ? LIMIT 1");
  const promoteAll = promote("due_real <= :now", "due_real");
  const promoteOfMerchant = promote(
    "merchant_id = :merchant AND epoch = :epoch AND next_attempt_at <= :now + :offset AND due_real <= :now",
    "next_attempt_at",
  );
  const nextLane = db.prepare(
    `SELECT merchant_id, host FROM events WHERE ready = 1 AND (merchant_id, host) > (?, ?)
     ORDER BY merchant_id, host LIMIT 1`,
  );
  const selectReady = db.prepare(
    `SELECT * FROM events WHERE ready = 1 AND merchant_id = ? AND host = ? ORDER BY next_attempt_at LIMIT ?`,
  );
  const selectEvent = db.prepare("SELECT * FROM events WHERE id = ? AND url IS NOT NULL");
  const claim = db.prepare(
    `UPDATE events SET ready = 0, claimed = 1, due_real = ?, claim_token = claim_token + 1 WHERE seq = ?
     RETURNING claim_token`,
  );
  const restart = db.prepare(
    `UPDATE events SET status = 'pending', step = 0, next_attempt_at = ?, due_real = NULL, ready = 1, claimed = 0
     WHERE seq = ?`,
  );
  const renew = db.prepare("UPDATE events SET due_real = ? WHERE id = ? AND claimed = 1 AND claim_token = ?");
  const forget = db.prepare("UPDATE events SET ready = 0, due_real = NULL, next_attempt_at = NULL WHERE seq = ?");
  const lastNumber = db.prepare("SELECT max(number) AS number FROM attempts WHERE event_id = ?");
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

  const isUnderway = (row: Row) => row.claimed === 1 && (row.due_real as number) > now();

  function recordReplay({ id, merchant_id: merchantId, status }: Row, actor: Actor): void {
    const details = { delivery: id as string, status: status as string };
    audit.record({ actor, action: "delivery.replay", merchantId: merchantId as string, details });
  }

  /** Claims a row. Returns undefined if it belongs to a record that a reset has deleted. */
  function claimRow(row: Row, leaseMs: number): Omit<ClaimedDelivery, "dueAt"> | undefined {
    const stored = merchantOf(row.merchant_id as string);
    if (stored?.epoch !== row.epoch) {
      forget.run(row.seq!);
      return undefined;
    }
    const { epoch: _, ...merchant } = stored!;
    const { claim_token: token } = claim.get(now() + leaseMs, row.seq!)!;
    return {
      event: toEvent(row),
      url: row.url as string,
      token: token as number,
      step: row.step as number,
      merchant,
      secrets: secretsOf(merchant.id),
    };
  }

  function claimLane({ merchantId, host, count }: LaneClaim, leaseMs: number): ClaimedDelivery[] {
    return selectReady.all(merchantId, host, count).flatMap((row) => {
      const claimed = claimRow(row, leaseMs);
      // A delivery whose replay was interrupted has no time in the schedule, unless it was pending before.
      const dueAt = optional<number>(row.next_attempt_at);
      return claimed ? [{ ...claimed, ...(dueAt !== undefined && { dueAt }) }] : [];
    });
  }

  function logAttempt(eventId: string, attempt: Parameters<DeliveryQueue["recordAttempt"]>[1]): void {
    const number = 1 + (optional<number>(lastNumber.get(eventId)!.number!) ?? 0);
    const { at, sentAt, latencyMs, httpStatus, responseBody, error } = attempt;
    const result = { http_status: httpStatus ?? null, response_body: responseBody ?? null, error: error ?? null };
    insertAttempt({ event_id: eventId, number, at, sent_real: sentAt, latency_ms: latencyMs, ...result });
    forgetAttempts.run(eventId, number - ATTEMPTS_KEPT);
  }

  return {
    async promoteDue(limit, merchantId) {
      // Usually nothing is due. Avoid a transaction then.
      if (!anyDue.get(now())) return 0;
      if (merchantId === undefined) return writeUnflushed(() => Number(promoteAll.run({ now: now(), limit }).changes));
      return write(() => {
        const { epoch, clockOffset } = merchantOf(merchantId)!;
        const values = { merchant: merchantId, epoch, offset: clockOffset, now: now(), limit };
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
    claimDeliveries: (lanes, leaseMs) => writeUnflushed(() => lanes.flatMap((lane) => claimLane(lane, leaseMs))),
    claimDelivery: (merchantId, id, leaseMs, actor) =>
      write(() => {
        const row = rowOf(merchantId, id);
        if (row === undefined) return undefined;
        if (isUnderway(row)) return "claimed";
        recordReplay(row, actor);
        return claimRow(row, leaseMs);
      }),
    requestReplay: (merchantId, id, actor) =>
      write(() => {
        const row = rowOf(merchantId, id);
        if (row === undefined) return "unknown";
        if (isUnderway(row)) return "claimed";
        recordReplay(row, actor);
        restart.run(sandboxTime(merchantOf(merchantId)!, now()), row.seq!);
        return "requested";
      }),
    async renewClaims(claims, leaseMs) {
      if (claims.length === 0) return;
      await writeUnflushed(() => {
        for (const { event, token } of claims) renew.run(now() + leaseMs, event.id, token);
      });
    },
    recordAttempt: ({ event, token }, attempt, next) =>
      writeUnflushed(() => {
        const row = selectEvent.get(event.id);
        const merchant = row && merchantOf(row.merchant_id as string);
        if (!merchant || merchant.epoch !== row.epoch) return false;
        logAttempt(event.id, attempt);
        const { status, step, nextAttemptAt } = next;
        const due = nextAttemptAt === undefined ? null : nextAttemptAt - merchant.clockOffset;
        return release.run(status, step, nextAttemptAt ?? null, due, event.id, token).changes === 1;
      }),
  };
}
