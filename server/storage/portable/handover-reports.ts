// Reads hand-overs with their records, and records what attempts, notifications and people have shown about them (D74).
import { closed, next, type HandoverBefore, type HandoverEvent, type Next } from "../../domain/handover-state.ts";
import type { Handover, RailExchange, Recorded } from "../../domain/handovers.ts";
import { KINDS, RECORDS } from "../rows.ts";
import { fields, type Row, type Values } from "../rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { updateRows, type Query, type Work } from "./query.ts";
import { endNow } from "./settling.ts";

const EXCHANGES_KEPT = 100;

const LOCK = `SELECT *, :leased AS leased FROM handovers
  WHERE merchant_id = ANY(:merchants::text[]) AND id = ANY(:references::text[]) ORDER BY id FOR UPDATE`;
const FIND_RECORDS = KINDS.map(
  (kind) => `SELECT reference, merchants_reference, amount, currency, status, phone_number, details
    FROM ${RECORDS[kind].table} WHERE merchant_id = ANY(:merchants::text[]) AND reference = ANY(:references::text[])`,
).join(" UNION ALL ");

/** What an attempt or a notification has shown about a payment. */
export type Reported = HandoverEvent & { merchantId: string; id: string };

/** The statement that finds the records of hand-overs. */
export const recordsOf = (rows: readonly Row[]): Query => ({
  text: FIND_RECORDS,
  values: { merchants: [...new Set(rows.map((row) => row.merchant_id))], references: rows.map((row) => row.id) },
});

/** The rows of hand-overs with the columns of their records. */
export function joined(rows: readonly Row[], records: readonly Row[]): Row[] {
  const byReference = new Map(records.map((record) => [record.reference, record]));
  return rows.map((row) => ({ ...byReference.get(row.id), ...row }));
}

/** Locks hand-overs of locked merchants. The rows have the columns of the records, and the counter of leases too. */
export function* lockHandovers(merchants: readonly string[], references: readonly string[]): Work<readonly Row[]> {
  const values = { merchants, references };
  const [rows, records] = yield [
    { text: LOCK, values },
    { text: FIND_RECORDS, values },
  ];
  return joined(rows!.rows, records!.rows);
}

/** The open conflict of a payment, since the payment needs a person. */
export const toConflict = ({ conflict, attention_real: at }: Row): Handover["conflict"] =>
  conflict === null ? undefined : { at, answer: JSON.parse(conflict) };

const stateOf = fields<Omit<HandoverBefore, "isClaimed" | "conflict">>(
  "kind status state step asked_leased:askedAt attention_real:unknownSince claim_token:token",
);
const toBefore = (row: Row): HandoverBefore => ({
  ...stateOf(row),
  isClaimed: row.leased_until !== null,
  conflict: toConflict(row),
});

/**
 * The new values of a locked hand-over. The rail's answer is kept as far as it says more than earlier ones, and of many
 * exchanges the last.
 */
function changed(
  row: Row,
  exchanges: readonly RailExchange[],
  { after, askAt, answer }: Pick<Next, "after" | "askAt" | "answer">,
  now: number,
): Values {
  const added = exchanges.map((exchange) => ({ ...exchange, latencyMs: Math.round(exchange.latencyMs) }));
  const isOpen = after.state !== "closed";
  const { conflict } = after;
  return {
    merchant_id: row.merchant_id,
    id: row.id,
    state: after.state,
    step: after.step,
    asked_leased: after.askedAt ?? null,
    attention_real: conflict?.at ?? after.unknownSince ?? null,
    conflict: conflict ? JSON.stringify(conflict.answer) : null,
    leased_until: after.isClaimed ? row.leased_until : null,
    next_attempt_at: isOpen ? (askAt ?? row.next_attempt_at) : null,
    ready: Number(isOpen && (askAt === undefined ? row.ready : askAt <= now)),
    proposal: isOpen ? row.proposal : null,
    rail_reference: answer?.railReference ?? row.rail_reference,
    rail_fee: answer?.fee ?? row.rail_fee,
    url: answer?.url ?? row.url,
    exchanges: JSON.stringify([...JSON.parse(row.exchanges), ...added].slice(-EXCHANGES_KEPT)),
    exchanged_real: exchanges.at(-1)?.at ?? row.exchanged_real,
  };
}

const storeAll = (values: readonly Values[]) => updateRows("handovers", ["merchant_id", "id"], values);

/** Ends a hand-over and its conflict, and notes what a person has decided. */
export function* closeByHand(
  row: Row,
  { now: at }: LockedMerchant,
  result: RailExchange["result"],
  detail: string,
): Work<void> {
  const decision = { at, latencyMs: 0, action: "decision", result, detail } as const;
  yield [storeAll([changed(row, [decision], { after: closed(toBefore(row)) }, at)])];
}

/** Records what attempts and notifications have shown, in their order for each payment. */
export function* recordReports(items: readonly Reported[]): Work<Recorded[]> {
  const first = new Map(items.toReversed().map((item) => [item.id, item]));
  const results = yield* recordOnce(first);
  const later = items.filter((item) => first.get(item.id) !== item);
  const rest = later.length > 0 ? yield* recordReports(later) : [];
  return items.map((item) =>
    first.get(item.id) === item ? (results.get(item.id) ?? "unknown-payment") : rest[later.indexOf(item)]!,
  );
}

/** Records one report of each payment. */
function* recordOnce(items: ReadonlyMap<string, Reported>): Work<Map<string, Recorded>> {
  const all = [...items.values()];
  const ids = [...new Set(all.map(({ merchantId }) => merchantId))];
  const isFinal = ({ report }: Reported) => (report.answer?.status ?? "pending") !== "pending";
  const merchants = yield* lockMerchants(ids, all.some(isFinal) ? "orders" : "shares");
  const known = (yield* lockHandovers(ids, [...items.keys()])).map((row) => {
    const merchant = merchants.get(row.merchant_id)!;
    const item = items.get(row.id)!;
    return { row, merchant, item, ...next(toBefore(row), item, { now: merchant.now, leased: row.leased }) };
  });
  const ends = known.flatMap(({ row: { kind, id: reference }, merchant, end }) =>
    end ? [{ kind, reference, merchant, status: end.status, failure: end.failure }] : [],
  );
  yield* endNow(ends);
  yield [storeAll(known.map((each) => changed(each.row, each.item.report.exchanges, each, each.merchant.now)))];
  return new Map(known.map(({ row, recorded }) => [row.id, recorded]));
}
