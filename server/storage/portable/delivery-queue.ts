import type { ClaimedDelivery, DeliveryQueue, LaneClaim } from "../../domain/deliveries.ts";
import { MOST_COUNTED, type Backlog, type Storage } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import { byText } from "../postgres/text.ts";
import { fields, toMerchant, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { toEvent, type StoredAttempt } from "./events.ts";
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

const LOCK_ONE = `SELECT status, leased_until IS NOT NULL AND leased_until > :leased AS is_underway
  FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL FOR UPDATE`;
const SELECT_RECEIVING = "SELECT * FROM merchants WHERE id = ANY(:merchants::text[])";
/** Makes a delivery due, at the first step of the schedule. */
const RESTART = `UPDATE events SET status = 'pending', step = 0, next_attempt_at = :now, ${READY}
  WHERE merchant_id = :merchant AND id = :id`;

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
    const event = toEvent(row);
    const { id, merchantId } = event;
    const [merchant, secrets] = merchants.get(merchantId)!;
    return {
      lane: { merchantId, host: row.host },
      id,
      event,
      url: row.url,
      token: row.claim_token,
      step: row.step,
      merchant,
      secrets,
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

/** Logs attempts and releases their claims. Resolves with false for each claim that was no longer valid. */
function* recordAttempts(items: readonly Parameters<DeliveryQueue["recordAttempt"]>[]): Work<boolean[]> {
  const merchantIds = items.map(([{ event }]) => event.merchantId);
  const places = new Map(items.map(([{ event }]) => [event.id, { merchant_id: event.merchantId, id: event.id }]));
  const sorted = [...places.values()].toSorted((a, b) => byText(a.id, b.id));
  const rows = given("events", sorted);
  const [, locked, found] = yield [...lockQueries(merchantIds, "shares"), { text: LOCK, rows }];
  const merchants = toLocked(locked!);
  const events = new Map(found!.rows.map((row) => [row.id, row]));
  const results = items.map(([{ event, token }, attempt, { status, step, nextAttemptAt }]) => {
    const row = events.get(event.id);
    // A reset has deleted the event.
    if (!row) return false;
    const attempts = JSON.parse(row.attempts) as StoredAttempt[];
    const isValid = row.leased_until !== null && row.claim_token === token;
    const logged = { number: (attempts.at(-1)?.number ?? 0) + 1, ...attempt, token };
    const { clockOffset } = merchants.get(event.merchantId)!;
    events.set(event.id, {
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
  yield [updateRows("events", ["merchant_id", "id"], [...events.values()])];
  return results;
}

export function deliveryQueue(executor: Executor): DeliveryQueue {
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
      write(() => claimDeliveries(executor, lanes, leaseMs), { commit: "writeUnflushed", repeatable: true }),
    advanceRetries: async ({ merchantId: merchant, host }, limit) =>
      (await write(() => run(ADVANCE, { merchant, host, limit }), { commit: "writeUnflushed" })).count,
    requestReplay: (merchantId, id, actor) =>
      write(function* () {
        const [row] = (yield* run(LOCK_ONE, { merchant: merchantId, id })).rows;
        if (!row) return "unknown";
        if (row.is_underway) return "claimed";
        const details = { delivery: id, status: row.status };
        yield* recordAction({ actor, action: "delivery.replay", merchantId, details });
        yield* run(RESTART, { merchant: merchantId, id });
        return "requested";
      }),
  };
}

/** Counts rows of an index, up to a limit, and finds the earliest time among them. */
const counted = (table: string, dueAt: string, where: string): Query => ({
  text: `SELECT count(*) AS count, min(${dueAt}) AS oldest FROM (SELECT ${dueAt} FROM ${table}
    WHERE ${where} LIMIT ${MOST_COUNTED}) AS found`,
});
/** Without ORDER BY, PostgreSQL may expect many rows and read the whole table. A claimed delivery waits until its lease ends. */
const DELIVERIES_WHERE = [
  // An index on merchants has the ready deliveries. Every merchant's id is greater than an empty text.
  "ready = true AND merchant_id > ''",
  `next_attempt_at <= (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`,
  "leased_until <= :leased ORDER BY leased_until",
  // From here on: not due yet.
  `next_attempt_at > (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`,
  "leased_until > :leased ORDER BY leased_until",
];
const BACKLOG = [
  ...DELIVERIES_WHERE.map((where) => counted("events", "next_attempt_at", where)),
  ...["disbursements", "checkouts"].map((table) => counted(table, "due_at", "due_at <= (SELECT :now) ORDER BY due_at")),
];

const toBacklog = fields<Backlog>(
  "due_deliveries waiting_deliveries oldest_delivery_due_at due_settlements oldest_settlement_due_at",
);

function summed(rows: readonly (readonly Row[])[]) {
  const counts = rows.map(([row]) => row!.count as number);
  const times = rows.flatMap(([row]): number[] => row!.oldest ?? []);
  const sum = counts.reduce((total, count) => total + count, 0);
  return {
    count: Math.min(MOST_COUNTED, sum),
    oldest: times.length > 0 ? Math.min(...times) : null,
  };
}

export const backlog = ({ readAll }: Executor): Pick<Storage, "readBacklog"> => ({
  async readBacklog() {
    const found = await readAll(BACKLOG);
    const [due, waiting, settlements] = [found.slice(0, 3), found.slice(3, 5), found.slice(5)].map(summed);
    return toBacklog({
      due_deliveries: due!.count,
      waiting_deliveries: waiting!.count,
      oldest_delivery_due_at: due!.oldest,
      due_settlements: settlements!.count,
      oldest_settlement_due_at: settlements!.oldest,
    });
  },
});
