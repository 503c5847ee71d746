// Records what attempts, notifications and people have shown about payments at rails (D74).
import { ended, next, type HandoverEvent, type Next } from "../../domain/handover-state.ts";
import type { Handover, RailExchange, Recorded } from "../../domain/handovers.ts";
import type { RailAnswer } from "../../domain/rails.ts";
import type { Row, Values } from "../rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { insertNew, run, runAll, updateRows, type Work } from "./query.ts";
import { endNow } from "./settling.ts";

const EXCHANGES_KEPT = 100;

const OF_ALL = "merchant_id = ANY(:merchants::text[])";
const LOCK = `SELECT *, :leased AS leased FROM handovers WHERE ${OF_ALL} AND id = ANY(:ids::text[]) ORDER BY id FOR UPDATE`;
const NUMBERS = `SELECT handover_id, number FROM exchanges WHERE ${OF_ALL} AND handover_id = ANY(:ids::text[])`;
const FORGET = "DELETE FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id AND number <= :until";

/** What an attempt or a notification has shown about a payment. */
export type Reported = HandoverEvent & { merchantId: string; id: string };

const keysOf = (rows: readonly Row[]) => ({
  merchants: [...new Set(rows.map((row) => row.merchant_id))],
  ids: rows.map((row) => row.id),
});

/** Logs the exchanges of payments. If a payment has many exchanges, deletes the oldest. */
function* log(items: readonly { row: Row; exchanges: readonly RailExchange[] }[]): Work<void> {
  const some = items.filter(({ exchanges }) => exchanges.length > 0);
  if (some.length === 0) return;
  const { rows } = yield* run(NUMBERS, keysOf(some.map(({ row }) => row)));
  const lastOf = new Map(
    rows.toSorted((a, b) => a.number - b.number).map((row) => [row.handover_id, row.number as number]),
  );
  const numbered = some.map(({ row, exchanges }) => ({ row, exchanges, last: lastOf.get(row.id) ?? 0 }));
  const values = numbered.flatMap(({ row, exchanges, last }) =>
    exchanges.map(({ at, latencyMs, action, result, detail = null }, index) => ({
      merchant_id: row.merchant_id,
      handover_id: row.id,
      number: last + index + 1,
      at_real: at,
      latency_ms: Math.round(latencyMs),
      action,
      result,
      detail,
    })),
  );
  yield [insertNew("exchanges", values)];
  yield* runAll(
    numbered
      .map(({ row, exchanges, last }) => ({
        text: FORGET,
        values: { merchant: row.merchant_id, id: row.id, until: last + exchanges.length - EXCHANGES_KEPT },
      }))
      .filter(({ values: { until } }) => until > 0),
  );
}

/** The open conflict of a payment, since the payment needs a person. */
export const toConflict = ({ conflict, attention_real: at }: Row): Handover["conflict"] =>
  conflict === null ? undefined : { at, answer: JSON.parse(conflict) };

/** The new values of a locked hand-over. The rail's answer is kept as far as it says more than earlier ones. */
const changed = (row: Row, answer: RailAnswer | undefined, values: Values): Values => ({
  merchant_id: row.merchant_id,
  id: row.id,
  step: row.step,
  proposal: row.proposal,
  rail_reference: answer?.railReference ?? row.rail_reference,
  rail_fee: answer?.fee ?? row.rail_fee,
  url: answer?.url ?? row.url,
  ...values,
});

/** The values of a hand-over that has ended, with the conflict that is open. */
const closed = (row: Row, answer?: RailAnswer, conflict?: Handover["conflict"]): Values =>
  changed(row, answer, {
    state: "closed",
    next_attempt_at: null,
    leased_until: null,
    ready: 0,
    asked_leased: null,
    attention_real: conflict?.at ?? null,
    conflict: conflict ? JSON.stringify(conflict.answer) : null,
    proposal: null,
  });

/** The values of a hand-over that goes on. Without `askAt`, the time of the next attempt stays. */
const noted = (row: Row, open: NonNullable<Next["open"]>, { answer, askAt }: Next, now: number): Values =>
  changed(row, answer, {
    state: open.state,
    step: open.step,
    next_attempt_at: askAt ?? row.next_attempt_at,
    leased_until: open.isClaimed ? row.leased_until : null,
    ready: Number(askAt === undefined ? row.ready : askAt <= now),
    asked_leased: open.askedAt,
    attention_real: open.unknownSince,
    conflict: row.conflict,
  });

const storeAll = (values: readonly Values[]) => updateRows("handovers", ["merchant_id", "id"], values);

/** Ends a hand-over and its conflict, and notes what a person has decided. */
export function* closeByHand(
  row: Row,
  { now: at }: LockedMerchant,
  result: RailExchange["result"],
  detail: string,
): Work<void> {
  yield* log([{ row, exchanges: [{ at, latencyMs: 0, action: "decision", result, detail }] }]);
  yield [storeAll([closed(row)])];
}

/** Records what attempts and notifications have shown, in their order for each payment. */
export function* recordReports(items: readonly Reported[]): Work<Recorded[]> {
  const first = new Map(items.toReversed().map((item) => [item.id, item]));
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
    const after = next(toBefore(row), item, { now: merchant.now, leased: row.leased });
    return [{ id: item.id, row, merchant, exchanges: item.report.exchanges, after }];
  });
  yield* log(known);
  const ends = known.flatMap(({ id: reference, row, merchant, after: { final } }) =>
    final ? [{ kind: row.kind, reference, merchant, status: final.status, failure: final.failure }] : [],
  );
  const had = yield* endNow(ends);
  const results = new Map<string, Recorded>(items.map(({ id }) => [id, byId.has(id) ? "recorded" : "unknown-payment"]));
  const values = known.flatMap(({ id, row, merchant, after }) => {
    if (after.open) return [noted(row, after.open, after, merchant.now)];
    if (!after.final) return [];
    const { recorded, conflict } = ended(after.final, had.get(id), toConflict(row), merchant.now);
    results.set(id, recorded);
    return [closed(row, after.final, conflict)];
  });
  yield [storeAll(values)];
  return results;
}

const toBefore = (row: Row) => ({
  kind: row.kind,
  state: row.state,
  step: row.step,
  askedAt: row.asked_leased,
  unknownSince: row.attention_real,
  token: row.claim_token,
  isClaimed: row.leased_until !== null,
});
