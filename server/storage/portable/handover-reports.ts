// Records what attempts, notifications and people have shown about payments at rails (D74).
import { ended, next, type HandoverBefore, type HandoverEvent } from "../../domain/handover-state.ts";
import type { Handover, RailExchange, Recorded } from "../../domain/handovers.ts";
import type { RailAnswer } from "../../domain/rails.ts";
import type { Row, Values } from "../rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { run, updateRows, type Work } from "./query.ts";
import { endNow } from "./settling.ts";

const EXCHANGES_KEPT = 100;

const LOCK = `SELECT *, :leased AS leased FROM handovers
  WHERE merchant_id = ANY(:merchants::text[]) AND id = ANY(:ids::text[]) ORDER BY id FOR UPDATE`;

/** What an attempt or a notification has shown about a payment. */
export type Reported = HandoverEvent & { merchantId: string; id: string };

/** Locks hand-overs. Their rows have the counter of leases too. */
export function* lockHandovers(merchants: readonly string[], ids: readonly string[]): Work<readonly Row[]> {
  return (yield* run(LOCK, { merchants, ids })).rows;
}

/** The open conflict of a payment, since the payment needs a person. */
export const toConflict = ({ conflict, attention_real: at }: Row): Handover["conflict"] =>
  conflict === null ? undefined : { at, answer: JSON.parse(conflict) };

/**
 * The new values of a locked hand-over. The rail's answer is kept as far as it says more than earlier ones, and of many
 * exchanges the last.
 */
function changed(row: Row, exchanges: readonly RailExchange[], answer: RailAnswer | undefined, values: Values): Values {
  const { leased: _, ...before } = row;
  const added = exchanges.map((exchange) => ({ ...exchange, latencyMs: Math.round(exchange.latencyMs) }));
  return {
    ...before,
    ready: Number(row.ready),
    rail_reference: answer?.railReference ?? row.rail_reference,
    rail_fee: answer?.fee ?? row.rail_fee,
    url: answer?.url ?? row.url,
    exchanges: JSON.stringify([...JSON.parse(row.exchanges), ...added].slice(-EXCHANGES_KEPT)),
    exchanged_real: exchanges.at(-1)?.at ?? row.exchanged_real,
    ...values,
  };
}

/** The changes of a hand-over that ends, with the conflict that is open. */
const closed = (conflict?: Handover["conflict"]): Values => ({
  state: "closed",
  next_attempt_at: null,
  leased_until: null,
  ready: 0,
  asked_leased: null,
  attention_real: conflict?.at ?? null,
  conflict: conflict ? JSON.stringify(conflict.answer) : null,
  proposal: null,
});

/** The changes of a hand-over that goes on. Without `askAt`, the time of the next attempt stays. */
const goingOn = (row: Row, open: HandoverBefore, askAt: number | undefined, now: number): Values => ({
  state: open.state,
  step: open.step,
  leased_until: open.isClaimed ? row.leased_until : null,
  asked_leased: open.askedAt,
  attention_real: open.unknownSince,
  ...(askAt !== undefined && { next_attempt_at: askAt, ready: Number(askAt <= now) }),
});

const storeAll = (values: readonly Values[]) => updateRows("handovers", ["merchant_id", "id"], values);

/** Ends a hand-over and its conflict, and notes what a person has decided. */
export function* closeByHand(
  row: Row,
  { now: at }: LockedMerchant,
  result: RailExchange["result"],
  detail: string,
): Work<void> {
  const decision = { at, latencyMs: 0, action: "decision", result, detail } as const;
  yield [storeAll([changed(row, [decision], undefined, closed())])];
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
  const rows = yield* lockHandovers(
    ids,
    items.map(({ id }) => id),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const known = items.flatMap((item) => {
    const row = byId.get(item.id);
    if (!row) return [];
    const merchant = merchants.get(item.merchantId)!;
    const after = next(toBefore(row), item, { now: merchant.now, leased: row.leased });
    return [{ id: item.id, row, merchant, exchanges: item.report.exchanges, after }];
  });
  const ends = known.flatMap(({ id: reference, row, merchant, after: { final } }) =>
    final ? [{ kind: row.kind, reference, merchant, status: final.status, failure: final.failure }] : [],
  );
  const had = yield* endNow(ends);
  const results = new Map<string, Recorded>(items.map(({ id }) => [id, byId.has(id) ? "recorded" : "unknown-payment"]));
  const values = known.map(({ id, row, merchant: { now }, exchanges, after: { final, open, answer, askAt } }) => {
    if (!final) return changed(row, exchanges, answer, open ? goingOn(row, open, askAt, now) : {});
    const { recorded, conflict } = ended(final, had.get(id), toConflict(row), now);
    results.set(id, recorded);
    return changed(row, exchanges, final, closed(conflict));
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
