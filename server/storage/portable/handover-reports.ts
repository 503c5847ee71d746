import {
  ended,
  next,
  type FinalAnswer,
  type HandoverBefore,
  type HandoverEvent,
  type Next,
} from "../../domain/handover-state.ts";
import type { Handover, RailExchange, Recorded } from "../../domain/handovers.ts";
import type { RailAnswer } from "../../domain/rails.ts";
import type { FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { failureValue, toCheckout, toDisbursement } from "../record-rows.ts";
import type { Row, Values } from "../rows.ts";
import { RECORD_TABLES, toConflict, type Kind } from "./handover-rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { insertNew, run, runAll, type Query, type Work } from "./query.ts";
import { writeEvents } from "./settling.ts";

const EXCHANGES_KEPT = 100;
const KINDS = Object.keys(RECORD_TABLES) as Kind[];

const OF_ALL = "merchant_id = ANY(:merchants::text[])";
const LOCK = `SELECT *, :leased AS leased FROM handovers WHERE ${OF_ALL} AND id = ANY(:ids::text[]) ORDER BY id FOR UPDATE`;
const NUMBERS = `SELECT handover_id, number FROM exchanges WHERE ${OF_ALL} AND handover_id = ANY(:ids::text[])`;
const FORGET = "DELETE FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id AND number <= :until";

/**
 * The columns of the given rows have names that differ from the table's columns, because PostgreSQL returns the given
 * columns too.
 */
const SETTLE = (kind: Kind) => `UPDATE ${RECORD_TABLES[kind]} AS r SET status = given.end_status,
    failure = given.end_failure, due_at = NULL, due_status = NULL,
    updated_at = greatest(r.updated_at, given.end_at) FROM :rows
  WHERE r.merchant_id = given.end_merchant AND r.reference = given.end_reference AND r.status = 'pending' RETURNING *`;
const END_COLUMNS = {
  end_merchant: "text",
  end_reference: "text",
  end_status: "text",
  end_failure: "text",
  end_at: "bigint",
};
const STATUS = (kind: Kind) => `SELECT reference, status FROM ${RECORD_TABLES[kind]}
  WHERE ${OF_ALL} AND reference = ANY(:ids::text[])`;

const WHICH = "FROM :rows WHERE h.merchant_id = given.merchant_id AND h.id = given.id";
const KNOWN = `rail_reference = coalesce(given.rail_reference, h.rail_reference),
    rail_fee = coalesce(given.rail_fee, h.rail_fee)`;
const CLOSE = `UPDATE handovers AS h SET state = 'closed', next_attempt_at = NULL, leased_until = NULL, ready = false,
    asked_leased = NULL, proposal = NULL, attention_real = given.attention,
    conflict = given.conflict, ${KNOWN} ${WHICH}`;
const CLOSE_COLUMNS = {
  merchant_id: "text",
  id: "text",
  attention: "bigint",
  conflict: "text",
  rail_reference: "text",
  rail_fee: "bigint",
};
/** Without `next`, the time of the next attempt stays, and so does a claim. */
const NOTE = `UPDATE handovers AS h SET state = given.state, step = given.step, asked_leased = given.asked,
    attention_real = given.attention, url = coalesce(given.url, h.url), ${KNOWN},
    leased_until = CASE WHEN given.claimed THEN h.leased_until END,
    ready = CASE WHEN given.next IS NULL THEN h.ready ELSE given.ready END,
    next_attempt_at = coalesce(given.next, h.next_attempt_at) ${WHICH}`;
const NOTE_COLUMNS = {
  ...CLOSE_COLUMNS,
  state: "text",
  step: "bigint",
  asked: "bigint",
  url: "text",
  claimed: "boolean",
  ready: "boolean",
  next: "bigint",
};

/** What an attempt or a notification has shown about a payment. */
export type Reported = HandoverEvent & { merchantId: string; id: string };

/** A payment that a rail or a person ends. */
interface End {
  row: Row;
  merchant: LockedMerchant;
  answer: Pick<FinalAnswer, "status" | "failure">;
}

const keysOf = (rows: readonly Row[]) => ({
  merchants: [...new Set(rows.map((row) => row.merchant_id))],
  ids: rows.map((row) => row.id),
});

/** Logs the exchanges of payments. If a payment has many exchanges, deletes the oldest. */
export function* log(items: readonly { row: Row; exchanges: readonly RailExchange[] }[]): Work<void> {
  const some = items.filter(({ exchanges }) => exchanges.length > 0);
  if (some.length === 0) return;
  const { rows } = yield* run(NUMBERS, keysOf(some.map(({ row }) => row)));
  const last = new Map<string, number>();
  for (const { handover_id: id, number } of rows)
    last.set(id as string, Math.max(last.get(id as string) ?? 0, number as number));
  const values = some.flatMap(({ row, exchanges }) =>
    exchanges.map(({ at, latencyMs, action, result, detail = null }, index) => ({
      merchant_id: row.merchant_id,
      handover_id: row.id,
      number: (last.get(row.id) ?? 0) + index + 1,
      at_real: at,
      latency_ms: Math.round(latencyMs),
      action,
      result,
      detail,
    })),
  );
  yield* runAll([insertNew("exchanges", values)]);
  for (const { row, exchanges } of some) {
    const until = (last.get(row.id) ?? 0) + exchanges.length - EXCHANGES_KEPT;
    if (until > 0) yield* run(FORGET, { merchant: row.merchant_id, id: row.id, until });
  }
}

/**
 * Gives pending records their final status and writes their events. Returns the statuses of the records that were final
 * before, by reference.
 */
export function* settleAll(ends: readonly End[]): Work<Map<string, FinalStatus>> {
  const queries = KINDS.map((kind): Query => {
    const values = ends
      .filter(({ row }) => row.kind === kind)
      .map(({ row, merchant, answer: { status, failure } }) => ({
        end_merchant: merchant.id,
        end_reference: row.id,
        end_status: status,
        end_failure: failureValue(failure),
        end_at: sandboxTime(merchant, merchant.now),
      }));
    return { text: SETTLE(kind), rows: { columns: END_COLUMNS, values } };
  });
  const settled = new Map((yield* runAll(queries)).flatMap(({ rows }) => rows).map((row) => [row.reference, row]));
  const final = ends.flatMap(({ row, merchant }) => {
    const found = settled.get(row.id);
    return found ? [{ record: row.kind === "checkout" ? toCheckout(found) : toDisbursement(found), merchant }] : [];
  });
  yield* writeEvents(final);
  const others = ends.map(({ row }) => row).filter((row) => !settled.has(row.id));
  if (others.length === 0) return new Map();
  const statuses = yield* runAll(KINDS.map((kind) => ({ text: STATUS(kind), values: keysOf(others) })));
  return new Map(statuses.flatMap(({ rows }) => rows).map((row) => [row.reference, row.status]));
}

/** Ends hand-overs, and stores the rail's last answer about each of them, and the conflict with it that is open. */
export const close = (
  items: readonly { row: Row; answer?: RailAnswer; conflict?: NonNullable<Handover["conflict"]> }[],
): Query => ({
  text: CLOSE,
  rows: {
    columns: CLOSE_COLUMNS,
    values: items.map(({ row, answer, conflict }) => ({
      ...knownOf(row, answer),
      attention: conflict?.at ?? null,
      conflict: conflict ? JSON.stringify(conflict.answer) : null,
    })),
  },
});

const knownOf = (row: Row, answer: RailAnswer | undefined): Values => ({
  merchant_id: row.merchant_id,
  id: row.id,
  rail_reference: answer?.railReference ?? null,
  rail_fee: answer?.fee ?? null,
});

const toBefore = (row: Row): HandoverBefore => ({
  kind: row.kind,
  state: row.state,
  step: row.step,
  askedAt: row.asked_leased,
  unknownSince: row.attention_real,
  token: row.claim_token,
  isClaimed: row.leased_until !== null,
});

/** The new values of a hand-over that has not ended. */
const noted = (row: Row, open: HandoverBefore, { answer, askAt }: Next, now: number): Values => ({
  ...knownOf(row, answer),
  state: open.state,
  step: open.step,
  asked: open.askedAt,
  attention: open.unknownSince,
  url: answer?.url ?? null,
  claimed: open.isClaimed ? 1 : 0,
  ready: askAt !== undefined && askAt <= now ? 1 : 0,
  next: askAt ?? null,
});

/** Records what attempts and notifications have shown, in their order for each payment. */
export function* recordReports(items: readonly Reported[]): Work<Recorded[]> {
  const first = new Map<string, Reported>();
  for (const item of items) if (!first.has(item.id)) first.set(item.id, item);
  const results = yield* recordOnce([...first.values()]);
  const later = items.filter((item) => first.get(item.id) !== item);
  const rest = later.length > 0 ? yield* recordReports(later) : [];
  return items.map((item) => (first.get(item.id) === item ? results.get(item.id)! : rest[later.indexOf(item)]!));
}

/** Records one report of each payment. */
function* recordOnce(items: readonly Reported[]): Work<Map<string, Recorded>> {
  const ids = [...new Set(items.map(({ merchantId }) => merchantId))];
  const isFinal = ({ report }: Reported) => (report.answer?.status ?? "pending") !== "pending";
  const merchants = yield* lockMerchants(ids, items.some(isFinal) ? "orders" : "shares");
  const { rows } = yield* run(LOCK, { merchants: ids, ids: items.map(({ id }) => id) });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const known = items.flatMap((item) => {
    const row = byId.get(item.id);
    if (!row) return [];
    const merchant = merchants.get(item.merchantId)!;
    const times = { now: merchant.now, leased: row.leased as number };
    return [{ id: item.id, row, merchant, report: item.report, next: next(toBefore(row), item, times) }];
  });
  yield* log(known.map(({ row, report }) => ({ row, exchanges: report.exchanges })));

  const ends = known.flatMap((item) => (item.next.final ? [{ ...item, answer: item.next.final }] : []));
  const had = yield* settleAll(ends);
  const closed = ends.map((end) => ({
    ...end,
    ...ended(end.answer, had.get(end.id), toConflict(end.row), end.merchant.now),
  }));
  const values = known.flatMap(({ row, merchant, next: after }) =>
    after.open ? [noted(row, after.open, after, merchant.now)] : [],
  );
  yield* runAll([close(closed), { text: NOTE, rows: { columns: NOTE_COLUMNS, values } }]);
  return new Map<string, Recorded>([
    ...items.map(({ id }) => [id, byId.has(id) ? "recorded" : "unknown-payment"] as const),
    ...closed.map(({ id, recorded }) => [id, recorded] as const),
  ]);
}
