import {
  lastNumber,
  noDelivery,
  type ClaimedDelivery,
  type DeliveryQueue,
  type LaneClaim,
} from "../../domain/deliveries.ts";
import { ServiceError } from "../../domain/errors.ts";
import { laneOf } from "../../domain/in-progress.ts";
import { MOST_COUNTED, type Backlog, type Storage } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import { byText } from "../postgres/text.ts";
import { fields, toMerchant } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { EVENT, type StoredAttempt } from "./events.ts";
import { lockQueries, toLocked } from "./locked-merchant.ts";
import { eachGiven, given, run, updateRows, type Executor, type Query, type QueueTable, type Work } from "./query.ts";
import { claimRows, queueOf, READY, RETRYING, updateSelected, WAITING } from "./queue.ts";

export const DELIVERIES: QueueTable = { name: "events", lane: "host", order: "seq" };

/** Leaves out what is due already: it becomes ready with its own time, which a move of a merchant's clock waits for. */
const ADVANCE = updateSelected(
  "events",
  "ready = true, next_attempt_at = :now, step = greatest(step - 1, 0)",
  `merchant_id = :merchant AND host = :host AND next_attempt_at > (SELECT :now) AND ${RETRYING}
    ORDER BY next_attempt_at LIMIT :limit`,
);

const LOCK_ONE = `SELECT status, attempts, leased_until IS NOT NULL AND leased_until > :leased AS is_underway
  FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL FOR UPDATE`;
const SELECT_RECEIVING = "SELECT * FROM merchants WHERE id = ANY(:merchants::text[])";
/** Makes a delivery due, at the first step of the schedule. */
const RESTART = `UPDATE events SET status = 'pending', step = 0, next_attempt_at = :now, ${READY}
  WHERE merchant_id = :merchant AND id = :id`;

const deliveryOf = fields<Omit<ClaimedDelivery, "lane" | "merchant" | "secrets" | "dueAt" | "attempts">>(
  `${EVENT} url step claim_token:token`,
);

/** Claims ready deliveries inside a transaction. Within a lane, deliveries that fell due first are claimed first. */
function* claimDeliveries(
  { sealing: { unseal } }: Pick<Executor, "sealing">,
  lanes: readonly LaneClaim[],
  leaseMs: number,
): Work<ClaimedDelivery[]> {
  const rows = yield* claimRows(DELIVERIES, lanes, leaseMs);
  if (rows.length === 0) return [];
  const found = yield* run(SELECT_RECEIVING, { merchants: [...new Set(rows.map((row) => row.merchant_id))] });
  const merchants = new Map(
    found.rows.map((row) => [row.id, [toMerchant(row), unseal(row.id, row.webhook_secrets)] as const]),
  );
  return rows.map((row) => {
    const delivery = deliveryOf(row);
    const { merchantId } = delivery;
    const [merchant, secrets] = merchants.get(merchantId)!;
    return {
      ...delivery,
      lane: { merchantId, host: row.host },
      merchant,
      secrets,
      attempts: JSON.parse(row.attempts),
      dueAt: sandboxTime(merchant, row.next_attempt_at as number),
    };
  });
}

/** The number of attempts stored for each delivery. It is limited because replays are not. */
const ATTEMPTS_KEPT = 100;
/** The order of the given rows keeps transactions from waiting for each other in a circle. */
const LOCK =
  eachGiven(`SELECT merchant_id, id, status, step, next_attempt_at, leased_until, claim_token, attempts, attempted_real
  FROM events WHERE merchant_id = given.merchant_id AND id = given.id FOR UPDATE`);

/** Logs attempts, releases their claims and makes waiting retries of the same lanes ready. */
function* recordAttempts(
  items: readonly Parameters<DeliveryQueue["recordAttempt"]>[],
): Work<Awaited<ReturnType<DeliveryQueue["recordAttempt"]>>[]> {
  const merchantIds = items.map(([{ lane }]) => lane.merchantId);
  const places = new Map(items.map(([{ lane, id }]) => [id, { merchant_id: lane.merchantId, id }]));
  const sorted = [...places.values()].toSorted((a, b) => byText(a.id, b.id));
  const rows = given("events", sorted);
  const [, locked, found] = yield [...lockQueries(merchantIds, "shares"), { text: LOCK, rows }];
  const merchants = toLocked(locked!);
  const events = new Map(found!.rows.map((row) => [row.id, row]));
  const areValid = items.map(([{ lane, id, token }, attempt, { status, step, nextAttemptAt }]) => {
    const row = events.get(id);
    // A reset has deleted the event.
    if (!row) return false;
    const attempts = JSON.parse(row.attempts) as StoredAttempt[];
    const isValid = row.leased_until !== null && row.claim_token === token;
    const logged = { number: lastNumber(attempts) + 1, ...attempt, token };
    const { clockOffset } = merchants.get(lane.merchantId)!;
    events.set(id, {
      ...row,
      // An attempt whose token is known has been recorded already.
      ...(!attempts.some((each) => each.token === token) && {
        attempts: JSON.stringify([...attempts, logged].slice(-ATTEMPTS_KEPT)),
        attempted_real: Math.max(row.attempted_real ?? 0, attempt.sentAt),
      }),
      ...(isValid && {
        status,
        step,
        next_attempt_at: nextAttemptAt === undefined ? null : nextAttemptAt - clockOffset,
        leased_until: null,
      }),
    });
    return isValid;
  });
  const advances = new Map<string, { merchant: string; host: string; limit: number }>();
  for (const [{ lane }, , , retries = 0] of items) {
    const { limit } = advances.get(laneOf(lane)) ?? { limit: 0 };
    if (retries > 0) advances.set(laneOf(lane), { merchant: lane.merchantId, host: lane.host, limit: limit + retries });
  }
  const [, ...advanced] = yield [
    updateRows("events", ["merchant_id", "id"], [...events.values()]),
    ...[...advances.values()].map((values) => ({ text: ADVANCE, values })),
  ];
  const ready = new Set([...advances.keys()].filter((_, index) => advanced[index]!.count > 0));
  return items.map(([{ lane }], index) => ({ isValid: areValid[index]!, hasMadeReady: ready.has(laneOf(lane)) }));
}

export function deliveryQueue(executor: Executor): Omit<DeliveryQueue, "replayAll"> {
  const { write } = executor;
  // Attempts that end while earlier attempts are being committed share a commit.
  const record = executor.together(recordAttempts, { commit: "writeUnflushed" });
  const { promoteDue, readyLanes, renew } = queueOf(executor, DELIVERIES);
  return {
    promoteDue,
    readyLanes,
    renewClaims: renew,
    recordAttempt: (...recorded) => record(recorded),
    // A claim whose outcome is unknown ends with its lease.
    claimDeliveries: (lanes, leaseMs) =>
      write(() => claimDeliveries(executor, lanes, leaseMs), { commit: "writeUnflushed", idempotent: true }),
    requestReplay: (merchantId, id, actor) =>
      write(function* () {
        const [row] = (yield* run(LOCK_ONE, { merchant: merchantId, id })).rows;
        if (!row) throw noDelivery();
        if (row.is_underway)
          throw new ServiceError(
            "delivery_in_progress",
            "An attempt of this delivery is in progress. Replay the delivery when the attempt has ended.",
          );
        const details = { delivery: id, status: row.status };
        yield* recordAction({ actor, action: "delivery.replay", merchantId, details });
        yield* run(RESTART, { merchant: merchantId, id });
        return lastNumber(JSON.parse(row.attempts));
      }),
  };
}

/** Counts rows of an index, up to a limit, and finds the earliest time among them. */
const counted = (table: string, dueAt: string, where: string) =>
  `SELECT count(*) AS count, min(${dueAt}) AS oldest
    FROM (SELECT ${dueAt} FROM ${table} WHERE ${where} LIMIT ${MOST_COUNTED}) AS found`;
const ofDeliveries = (where: string) => counted("events", "next_attempt_at", where);
const summed = (name: string, parts: readonly string[]): Query => ({
  text: `SELECT least(${MOST_COUNTED}, sum(count))::bigint AS ${name}, min(oldest) AS oldest_${name}
    FROM (${parts.join(" UNION ALL ")}) AS parts`,
});
/** Without ORDER BY, PostgreSQL may expect many rows and read the whole table. A claimed delivery waits until its lease ends. */
const BACKLOG = [
  summed("due_deliveries", [
    // An index on merchants has the ready deliveries. Every merchant's id is greater than an empty text.
    ofDeliveries("ready = true AND merchant_id > ''"),
    ofDeliveries(`next_attempt_at <= (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`),
    ofDeliveries("leased_until <= :leased ORDER BY leased_until"),
  ]),
  summed("waiting_deliveries", [
    ofDeliveries(`next_attempt_at > (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`),
    ofDeliveries("leased_until > :leased ORDER BY leased_until"),
  ]),
  summed(
    "due_settlements",
    ["disbursements", "checkouts"].map((table) => counted(table, "due_at", "due_at <= (SELECT :now) ORDER BY due_at")),
  ),
];

const toBacklog = fields<Backlog>(
  "due_deliveries waiting_deliveries oldest_due_deliveries:oldestDeliveryDueAt due_settlements oldest_due_settlements:oldestSettlementDueAt",
);

export const backlog = ({ read }: Executor): Pick<Storage, "readBacklog"> => ({
  readBacklog: async () => toBacklog(Object.assign({}, ...(await Promise.all(BACKLOG.map(read))).flat())),
});
