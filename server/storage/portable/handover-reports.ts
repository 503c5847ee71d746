import { failureOf } from "../../domain/failures.ts";
import type { HandoverReport, RailExchange, Recorded } from "../../domain/handovers.ts";
import type { RailAnswer } from "../../domain/rails.ts";
import type { FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { EXCHANGE_COLUMNS } from "../columns.ts";
import { failureValue, toCheckout, toDisbursement } from "../record-rows.ts";
import { optional, type Row, type Values } from "../rows.ts";
import { RECORD_TABLES, type Kind } from "./handover-rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { insertNew, run, runAll, type Executor, type Query, type Work } from "./query.ts";

const EXCHANGES_KEPT = 100;
const KINDS = Object.keys(RECORD_TABLES) as Kind[];

const OF_ALL = "merchant_id = ANY(:merchants::text[])";
const LOCK = `SELECT * FROM handovers WHERE ${OF_ALL} AND id = ANY(:ids::text[]) ORDER BY id FOR UPDATE`;
const NUMBERS = `SELECT handover_id, number FROM exchanges WHERE ${OF_ALL} AND handover_id = ANY(:ids::text[])`;
const FORGET = "DELETE FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id AND number <= :until";

/**
 * The columns of the given rows have names that differ from the table's columns, because PostgreSQL returns the given
 * columns too.
 */
const SETTLE = (kind: Kind) => `UPDATE ${RECORD_TABLES[kind]} AS r SET status = given.end_status,
    failure = given.end_failure, due_at = NULL, due_real = NULL, due_status = NULL,
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
const CLOSE = `UPDATE handovers AS h SET state = 'closed', next_attempt_at = NULL, due_real = NULL, ready = false,
    claimed = false, asked_real = NULL, asked_before_real = NULL, proposal = NULL, attention_real = given.attention,
    conflict = given.conflict, ${KNOWN} ${WHICH}`;
const CLOSE_COLUMNS = {
  merchant_id: "text",
  id: "text",
  attention: "bigint",
  conflict: "text",
  rail_reference: "text",
  rail_fee: "bigint",
};
/**
 * `ask`: the rail is asked now. `release`: the rail is asked at the next time. Otherwise an attempt is in progress or
 * nothing changes.
 */
const NOTE = `UPDATE handovers AS h SET state = given.state, step = given.step, asked_real = given.asked,
    asked_before_real = NULL, attention_real = given.attention, url = coalesce(given.url, h.url), ${KNOWN},
    claimed = CASE given.course WHEN 'release' THEN false ELSE h.claimed END,
    ready = CASE given.course WHEN 'release' THEN false WHEN 'ask' THEN true ELSE h.ready END,
    next_attempt_at = CASE given.course WHEN 'keep' THEN h.next_attempt_at ELSE given.next END,
    due_real = CASE given.course WHEN 'release' THEN given.next WHEN 'ask' THEN NULL ELSE h.due_real END ${WHICH}`;
const NOTE_COLUMNS = {
  ...CLOSE_COLUMNS,
  state: "text",
  step: "bigint",
  asked: "bigint",
  url: "text",
  course: "text",
  next: "bigint",
};

/** What an attempt or a notification has shown about a payment. */
export interface Reported {
  merchantId: string;
  id: string;
  report: HandoverReport;
  /** The token of the claim; absent for a notification. */
  token?: number;
}

/** A payment that a rail or a person ends. */
interface End {
  row: Row;
  merchant: LockedMerchant;
  answer: Pick<RailAnswer, "status" | "failure">;
}

const isFinal = (answer: RailAnswer | undefined): answer is RailAnswer & { status: FinalStatus } =>
  answer !== undefined && answer.status !== "pending";

/** A payout cannot be cancelled, so a rail that says `cancelled` has not paid it. */
const CANCELLED = { status: "failed", failure: failureOf("other", "The rail cancelled the payment.") } as const;
const meant = (row: Row, said: RailAnswer): RailAnswer =>
  row.kind === "disbursement" && said.status === "cancelled" ? { ...said, ...CANCELLED } : said;

/**
 * True for a refusal that proves nothing: the attempt has lost its claim to another attempt, and the payment is open.
 * The rail may have taken the payment from the other attempt since.
 */
const isOvertaken = ({ report: { answer }, token }: Reported, row: Row): boolean =>
  isFinal(answer) &&
  answer.status !== "success" &&
  token !== undefined &&
  token !== row.claim_token &&
  row.state !== "closed";

const keysOf = (rows: readonly Row[]) => ({
  merchants: [...new Set(rows.map((row) => row.merchant_id as string))],
  ids: rows.map((row) => row.id as string),
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
      merchant_id: row.merchant_id as string,
      handover_id: row.id as string,
      number: (last.get(row.id as string) ?? 0) + index + 1,
      at_real: at,
      latency_ms: Math.round(latencyMs),
      action,
      result,
      detail,
    })),
  );
  yield* runAll([insertNew("exchanges", { columns: EXCHANGE_COLUMNS, values })]);
  for (const { row, exchanges } of some) {
    const until = (last.get(row.id as string) ?? 0) + exchanges.length - EXCHANGES_KEPT;
    if (until > 0) yield* run(FORGET, { merchant: row.merchant_id as string, id: row.id as string, until });
  }
}

/**
 * Gives pending records their final status and writes their events. Returns the statuses of the records that were final
 * before, by reference.
 */
export function* settleAll({ writeEvents }: Executor, ends: readonly End[]): Work<Map<string, string>> {
  const queries = KINDS.map((kind): Query => {
    const values = ends
      .filter(({ row }) => row.kind === kind)
      .map(({ row, merchant, answer: { status, failure } }) => ({
        end_merchant: merchant.id,
        end_reference: row.id as string,
        end_status: status,
        end_failure: failureValue(failure),
        end_at: sandboxTime(merchant, merchant.now),
      }));
    return { text: SETTLE(kind), rows: { columns: END_COLUMNS, values } };
  }).filter(({ rows }) => rows!.values.length > 0);
  const settled = new Map(
    (yield* runAll(queries)).flatMap(({ rows }) => rows).map((row) => [row.reference as string, row]),
  );
  const final = ends.flatMap(({ row, merchant }) => {
    const found = settled.get(row.id as string);
    return found ? [{ record: row.kind === "checkout" ? toCheckout(found) : toDisbursement(found), merchant }] : [];
  });
  yield* writeEvents(final);
  const others = ends.map(({ row }) => row).filter((row) => !settled.has(row.id as string));
  if (others.length === 0) return new Map();
  const statuses = yield* runAll(KINDS.map((kind) => ({ text: STATUS(kind), values: keysOf(others) })));
  return new Map(statuses.flatMap(({ rows }) => rows).map((row) => [row.reference as string, row.status as string]));
}

/** Ends hand-overs, and stores the rail's last answer about each of them. */
export const close = (
  items: readonly { row: Row; answer?: RailAnswer; attention: number | null; conflict: string | null }[],
): Query => ({
  text: CLOSE,
  rows: {
    columns: CLOSE_COLUMNS,
    values: items.map(({ row, answer, attention, conflict }) => ({ ...knownOf(row, answer), attention, conflict })),
  },
});

const knownOf = (row: Row, answer: RailAnswer | undefined): Values => ({
  merchant_id: row.merchant_id as string,
  id: row.id as string,
  rail_reference: answer?.railReference ?? null,
  rail_fee: answer?.fee ?? null,
});

/** The new state of a hand-over that has not ended. */
function noted(merchant: LockedMerchant, row: Row, { report, token }: Reported): Values {
  const { answer, isMissing = false, isUnknown = false, askAgainAfterMs } = report;
  const holds = Boolean(row.claimed) && row.claim_token === token;
  const asksNow = token === undefined && !answer && !row.claimed;
  const isLost = isMissing && row.state === "accepted";
  const state = answer ? "accepted" : (row.state as string);
  const isKnown = answer !== undefined || (isMissing && !isUnknown);
  const asked = isKnown ? null : isUnknown || !holds ? row.asked_real : row.asked_before_real;
  const attended = row.attention_real as number | null;
  return {
    ...knownOf(row, answer),
    state,
    step: asksNow ? 0 : state === row.state ? (row.step as number) + Math.min(1, report.exchanges.length) : 1,
    asked: asked as number | null,
    attention: answer !== undefined ? null : isUnknown || isLost ? (attended ?? merchant.now) : attended,
    url: answer?.url ?? null,
    course: holds ? "release" : asksNow ? "ask" : "keep",
    next: merchant.now + (holds ? Math.round(askAgainAfterMs) : 0),
  };
}

/** Records what attempts and notifications have shown, in their order for each payment. */
export function* recordReports(executor: Executor, items: readonly Reported[]): Work<Recorded[]> {
  const first = new Map<string, Reported>();
  for (const item of items) if (!first.has(item.id)) first.set(item.id, item);
  const results = yield* recordOnce(executor, [...first.values()]);
  const later = items.filter((item) => first.get(item.id) !== item);
  const rest = later.length > 0 ? yield* recordReports(executor, later) : [];
  return items.map((item) => (first.get(item.id) === item ? results.get(item.id)! : rest[later.indexOf(item)]!));
}

/** Records one report of each payment. */
function* recordOnce(executor: Executor, items: readonly Reported[]): Work<Map<string, Recorded>> {
  const ids = [...new Set(items.map(({ merchantId }) => merchantId))];
  const ends = new Set(items.flatMap(({ merchantId, report }) => (isFinal(report.answer) ? [merchantId] : [])));
  const merchants = yield* lockMerchants(new Map(ids.map((id) => [id, ends.has(id) ? "orders" : "shares"])));
  const { rows } = yield* run(LOCK, { merchants: ids, ids: items.map(({ id }) => id) });
  const byId = new Map(rows.map((row) => [row.id as string, row]));
  const known = items.flatMap((item) => {
    const row = byId.get(item.id);
    if (!row) return [];
    const { exchanges } = item.report;
    const report = isOvertaken(item, row) ? { exchanges, isUnknown: true, askAgainAfterMs: 0 } : item.report;
    return [{ ...item, report, row, merchant: merchants.get(item.merchantId)!, exchanges }];
  });
  yield* log(known);

  const ended = known.flatMap((item) => {
    const { answer } = item.report;
    return isFinal(answer) ? [{ ...item, answer: meant(item.row, answer) }] : [];
  });
  const had = ended.length > 0 ? yield* settleAll(executor, ended) : new Map<string, string>();
  const isConflict = ({ row, answer }: End) => {
    const status = had.get(row.id as string);
    // A checkout that expired here and failed there is unpaid on both sides.
    return status !== undefined && (status === "success") !== (answer.status === "success");
  };
  const closed = ended.map(({ row, merchant, answer }) => {
    const isNew = isConflict({ row, merchant, answer });
    const before = optional<string>(row.conflict);
    const since = before === undefined ? null : (row.attention_real as number);
    const conflict = isNew ? JSON.stringify(answer) : (before ?? null);
    return { row, answer, conflict, attention: since ?? (isNew ? merchant.now : null) };
  });
  const open = known.filter(({ row, report }) => !isFinal(report.answer) && row.state !== "closed");
  const values = open.map((item) => noted(item.merchant, item.row, item));
  yield* runAll([
    ...(closed.length > 0 ? [close(closed)] : []),
    ...(values.length > 0 ? [{ text: NOTE, rows: { columns: NOTE_COLUMNS, values } }] : []),
  ]);

  const results = new Map<string, Recorded>(items.map(({ id }) => [id, byId.has(id) ? "recorded" : "unknown-payment"]));
  for (const end of ended) {
    const id = end.row.id as string;
    if (!had.has(id)) results.set(id, "final");
    else if (isConflict(end)) results.set(id, "conflict");
  }
  return results;
}
