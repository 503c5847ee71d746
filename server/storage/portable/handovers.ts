import { actorName, personOf, type ActorName } from "../../domain/audit.ts";
import { failureOf } from "../../domain/failures.ts";
import type {
  ClaimedHandover,
  Decision,
  RailExchange,
  HandoverReport,
  HandoverStore,
  HandoverSummary,
  Recorded,
} from "../../domain/handovers.ts";
import type { RailAnswer } from "../../domain/rails.ts";
import type { FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { failureValue, toCheckout, toDisbursement } from "../record-rows.ts";
import { optional, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { toExchange, toHandover, toPayment } from "./handover-rows.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Query, type QueueTable, type Work } from "./query.ts";
import { queueOf, READY } from "./queue.ts";

/** A claim notes that the rail may now be asked to pay: if the process dies, its result is not known. */
export const HANDOVERS: QueueTable = {
  name: "handovers",
  lane: "rail",
  order: "id",
  marks: `asked_before_real = asked_real, asked_real = CASE WHEN state = 'waiting' THEN :now ELSE asked_real END`,
};

const EXCHANGES_KEPT = 100;
const TABLES = { disbursement: "disbursements", checkout: "checkouts" } as const;
type Kind = keyof typeof TABLES;

const FIND = "SELECT * FROM handovers WHERE id = :id";
const LOCK = "SELECT * FROM handovers WHERE merchant_id = :merchant AND id = :id FOR UPDATE";
const RECORDS = (kind: Kind) =>
  `SELECT * FROM ${TABLES[kind]} WHERE merchant_id = ANY(:merchants::text[]) AND reference = ANY(:references::text[])`;
const LOG = `INSERT INTO exchanges (merchant_id, handover_id, number, at_real, latency_ms, action, result, detail)
  SELECT :merchant, :id, coalesce(max(number), 0) + 1, :at, :latency, :action, :result, :detail
  FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id`;
const FORGET = `DELETE FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id
  AND number <= (SELECT max(number) FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id) - ${EXCHANGES_KEPT}`;
const EXCHANGES = "SELECT * FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id ORDER BY number";

const SETTLE = (kind: Kind) => `UPDATE ${TABLES[kind]} SET status = :status, failure = :failure, due_at = NULL,
    due_real = NULL, due_status = NULL, updated_at = greatest(updated_at, :at)
  WHERE merchant_id = :merchant AND reference = :id AND status = 'pending' RETURNING *`;
const STATUS = (kind: Kind) => `SELECT status FROM ${TABLES[kind]} WHERE merchant_id = :merchant AND reference = :id`;
const OF_ONE = "WHERE merchant_id = :merchant AND id = :id";
const CLOSE = `UPDATE handovers SET state = 'closed', next_attempt_at = NULL, due_real = NULL, ready = false, claimed = false,
    asked_real = NULL, asked_before_real = NULL, proposal = NULL, attention_real = :attention, conflict = :conflict,
    rail_reference = coalesce(:railReference, rail_reference), rail_fee = coalesce(:railFee, rail_fee) ${OF_ONE}`;
const UPDATE = `UPDATE handovers SET state = :state, step = :step, asked_real = :asked, asked_before_real = NULL,
    attention_real = :attention, rail_reference = coalesce(:railReference, rail_reference),
    rail_fee = coalesce(:railFee, rail_fee), url = coalesce(:url, url) ${OF_ONE}`;
const RELEASE = `UPDATE handovers SET claimed = false, ready = false, next_attempt_at = :now + :after::bigint,
    due_real = :now + :after::bigint ${OF_ONE}`;
const ASK_NOW = `UPDATE handovers SET ${READY}, next_attempt_at = :now, step = 0 ${OF_ONE} AND state <> 'closed' AND NOT claimed`;

const ATTENTION = (which: string) => `SELECT * FROM handovers WHERE attention_real IS NOT NULL
  AND (conflict IS NOT NULL OR attention_real < :before) ${which} ORDER BY attention_real, id LIMIT :limit`;
const PROPOSE = `UPDATE handovers SET proposal = :proposal ${OF_ONE}`;
const CLOSE_CONFLICT = `UPDATE handovers SET conflict = NULL, attention_real = NULL ${OF_ONE} AND conflict IS NOT NULL`;
const FIGURES = [
  `SELECT rail, state, count(*) AS count FROM handovers WHERE state <> 'closed' GROUP BY rail, state`,
  `SELECT rail, count(conflict) AS conflicts, min(CASE WHEN conflict IS NULL THEN attention_real END) AS oldest
    FROM handovers WHERE attention_real IS NOT NULL GROUP BY rail`,
];
const PAUSE = `INSERT INTO rail_pauses (rail, at_real, paused_by, reason) VALUES (:rail, :now, :by, :reason)
  ON CONFLICT DO NOTHING`;
const RESUME = "DELETE FROM rail_pauses WHERE rail = :rail";
const PAUSES = "SELECT * FROM rail_pauses ORDER BY rail";
/** The page after a payment, in the order of our references. */
const OF_RAIL = (
  kind: Kind,
) => `SELECT h.id, h.merchant_id, h.state, h.created_real, h.rail_fee, r.merchants_reference, r.amount,
    r.currency, r.status FROM handovers h JOIN ${TABLES[kind]} r ON r.merchant_id = h.merchant_id AND r.reference = h.id
  WHERE h.rail = :rail AND h.kind = '${kind}' AND h.created_real >= :from AND h.created_real < :to
    AND (h.created_real, h.id) > (:afterTime, :afterId) ORDER BY h.created_real, h.id LIMIT :limit`;

/** A payout cannot be cancelled, and it was not paid. */
const CANCELLED = { status: "failed", failure: failureOf("other", "The rail cancelled the payment.") } as const;

const isFinal = (answer: RailAnswer | undefined): answer is RailAnswer & { status: FinalStatus } =>
  answer !== undefined && answer.status !== "pending";

/** The records of hand-overs, by reference. */
const recordQueries = (rows: readonly Row[]): Query[] => {
  const merchants = [...new Set(rows.map((row) => row.merchant_id as string))];
  const references = rows.map((row) => row.id as string);
  return (Object.keys(TABLES) as Kind[]).map((kind) => ({ text: RECORDS(kind), values: { merchants, references } }));
};
const byReference = (results: readonly (readonly Row[])[]) =>
  new Map(results.flat().map((row) => [row.reference as string, row]));

function* log(merchant: string, id: string, exchanges: readonly RailExchange[]): Work<void> {
  for (const { at, latencyMs, action, result, detail = null } of exchanges)
    yield* run(LOG, { merchant, id, at, latency: Math.round(latencyMs), action, result, detail });
  if (exchanges.length > 0) yield* run(FORGET, { merchant, id });
}

/** Notes what is known of a payment that has not ended. */
function* note(merchant: LockedMerchant, row: Row, report: HandoverReport, holds: boolean): Work<void> {
  const { answer, isMissing = false, isUnknown = false } = report;
  const isLost = isMissing && row.state === "accepted";
  const isInDoubt = isUnknown && row.state === "waiting";
  const state = answer ? "accepted" : (row.state as string);
  const isKnown = answer !== undefined || (isMissing && !isUnknown);
  const asked = isKnown ? null : isUnknown || !holds ? row.asked_real : row.asked_before_real;
  const wasAttended = optional<number>(row.attention_real) ?? merchant.now;
  yield* run(UPDATE, {
    merchant: merchant.id,
    id: row.id as string,
    state,
    step: state === row.state ? (row.step as number) + 1 : 1,
    asked: asked as number | null,
    attention: answer !== undefined ? null : isInDoubt || isLost ? wasAttended : (row.attention_real as number | null),
    railReference: answer?.railReference ?? null,
    railFee: answer?.fee ?? null,
    url: answer?.url ?? null,
  });
}

/** The operation that each database implements with its own statements, in `tuned/`. */
type Tuned = "handoverLanes";

export function handovers(executor: Executor): Omit<HandoverStore, Tuned> {
  const { read, write, claim, writeEvents } = executor;
  const { promoteDue, renew } = queueOf(executor, HANDOVERS);

  function* claimAll(lanes: Parameters<HandoverStore["claimHandovers"]>[0], leaseMs: number): Work<ClaimedHandover[]> {
    const rows = yield* claim(HANDOVERS, lanes, leaseMs);
    if (rows.length === 0) return [];
    const records = byReference((yield* runAll(recordQueries(rows))).map((result) => result.rows));
    return rows.map((row) => {
      const askedAt = optional<number>(row.asked_before_real);
      return {
        lane: { merchantId: row.merchant_id as string, host: row.rail as string },
        id: row.id as string,
        token: row.claim_token as number,
        payment: toPayment(row, records.get(row.id as string)!),
        state: row.state as ClaimedHandover["state"],
        step: row.step as number,
        ...(askedAt !== undefined && { askedAt }),
      };
    });
  }

  /**
   * Gives a pending record its final status and writes its event. Resolves with the status that the record had already,
   * if it was final.
   */
  function* settle(
    merchant: LockedMerchant,
    { id, kind }: Row,
    { status, failure }: Pick<RailAnswer, "status" | "failure">,
  ): Work<string | undefined> {
    const which = { merchant: merchant.id, id: id as string };
    const values = { ...which, status, failure: failureValue(failure), at: sandboxTime(merchant, merchant.now) };
    const [row] = (yield* run(SETTLE(kind as Kind), values)).rows;
    if (!row) return (yield* run(STATUS(kind as Kind), which)).rows[0]!.status as string;
    yield* writeEvents([{ record: kind === "checkout" ? toCheckout(row) : toDisbursement(row), merchant }]);
    return undefined;
  }

  /** A rail's final word: it ends the payment, agrees with its end, or contradicts it (D74). */
  function* conclude(merchant: LockedMerchant, row: Row, said: RailAnswer): Work<Recorded> {
    const answer = row.kind === "disbursement" && said.status === "cancelled" ? { ...said, ...CANCELLED } : said;
    const had = yield* settle(merchant, row, answer);
    // A checkout that expired here and failed there is unpaid on both sides.
    const isConflict = had !== undefined && (had === "success") !== (answer.status === "success");
    const known = optional<string>(row.conflict);
    const since = known === undefined ? undefined : (row.attention_real as number);
    yield* run(CLOSE, {
      merchant: merchant.id,
      id: row.id as string,
      railReference: answer.railReference ?? null,
      railFee: answer.fee ?? null,
      conflict: isConflict ? JSON.stringify(answer) : (known ?? null),
      attention: since ?? (isConflict ? merchant.now : null),
    });
    if (had === undefined) return "final";
    return isConflict ? "conflict" : "recorded";
  }

  const recordReport = (merchantId: string, id: string, report: HandoverReport, token: number | undefined) =>
    write(function* (): Work<Recorded> {
      const merchant = yield* lockMerchant(merchantId, isFinal(report.answer) ? "orders" : "shares");
      const which = { merchant: merchantId, id };
      const [row] = (yield* run(LOCK, which)).rows;
      if (!row) return "unknown-payment";
      yield* log(merchantId, id, report.exchanges);
      if (isFinal(report.answer)) return yield* conclude(merchant, row, report.answer);
      if (row.state === "closed") return "recorded";
      const holds = Boolean(row.claimed) && row.claim_token === token;
      yield* note(merchant, row, report, holds);
      if (holds) yield* run(RELEASE, { ...which, after: Math.round(report.askAgainAfterMs) });
      else if (token === undefined && !report.answer) yield* run(ASK_NOW, which);
      return "recorded";
    });

  const merchantOf = async (id: string): Promise<Row | undefined> => (await read({ text: FIND, values: { id } }))[0];

  /** Changes an open hand-over inside a transaction that has locked it. */
  async function change<T>(
    id: string,
    otherwise: T,
    work: (row: Row, merchant: LockedMerchant) => Work<T>,
  ): Promise<T> {
    const found = await merchantOf(id);
    if (!found) return otherwise;
    return write(function* () {
      const merchant = yield* lockMerchant(found.merchant_id as string, "orders");
      const [row] = (yield* run(LOCK, { merchant: merchant.id, id })).rows;
      return yield* work(row!, merchant);
    });
  }

  return {
    promoteHandovers: promoteDue,
    renewHandovers: renew,
    claimHandovers: (lanes, leaseMs) => write(() => claimAll(lanes, leaseMs), { repeatable: true }),
    recordHandover: ({ lane, id, token }, report) => recordReport(lane.merchantId, id, report, token),
    async recordNotification(rail, id, report) {
      const found = await merchantOf(id);
      if (found?.rail !== rail) return "unknown-payment";
      return recordReport(found.merchant_id as string, id, report, undefined);
    },
    async findHandover(id) {
      const found = await merchantOf(id);
      if (!found) return undefined;
      const values = { merchant: found.merchant_id as string, id };
      const [exchanges, ...records] = await executor.readAll([{ text: EXCHANGES, values }, ...recordQueries([found])]);
      return toHandover(found, byReference(records).get(id)!, exchanges!.map(toExchange));
    },
    async listAttention({ merchantId, unknownBefore: before, limit }) {
      const which = merchantId === undefined ? "" : "AND merchant_id = :merchant";
      const rows = await read({ text: ATTENTION(which), values: { before, limit, merchant: merchantId ?? null } });
      if (rows.length === 0) return [];
      const records = byReference(await executor.readAll(recordQueries(rows)));
      return rows.map((row) => toHandover(row, records.get(row.id as string)!, []));
    },
    askRailAgain: (id, actor) =>
      change(id, false, function* (row, { id: merchant }) {
        if (row.state === "closed") return false;
        yield* run(ASK_NOW, { merchant, id });
        yield* recordAction({ actor, action: "payment.ask", merchantId: merchant, details: { reference: id } });
        return true;
      }),
    decideByHand: (id, decision, actor, { needsTwo }) =>
      change(id, "unknown-payment", function* (row, merchant) {
        if (row.state === "closed") return "not-pending";
        const { status, reason } = decision;
        const by = actorName(actor);
        const entry = { actor, merchantId: merchant.id, details: { reference: id, status, reason } };
        const proposal = optional<string>(row.proposal);
        const proposed = proposal === undefined ? undefined : (JSON.parse(proposal) as Decision & { by: ActorName });
        if (needsTwo && (proposed?.status !== status || personOf(proposed.by) === personOf(by))) {
          const text = JSON.stringify({ status, reason, by, at: merchant.now });
          yield* run(PROPOSE, { merchant: merchant.id, id, proposal: text });
          yield* recordAction({ ...entry, action: "payment.propose" });
          return "proposed";
        }
        const failure = status === "failed" ? failureOf("other", "The operator ended the payment by hand.") : undefined;
        if ((yield* settle(merchant, row, { status, ...(failure && { failure }) })) !== undefined) return "not-pending";
        const exchange = {
          at: merchant.now,
          latencyMs: 0,
          action: "decision",
          result: status,
          detail: `${by}: ${reason}`,
        };
        yield* log(merchant.id, id, [exchange as RailExchange]);
        yield* run(CLOSE, {
          merchant: merchant.id,
          id,
          railReference: null,
          railFee: null,
          conflict: null,
          attention: null,
        });
        yield* recordAction({ ...entry, action: "payment.decide" });
        return "decided";
      }),
    closeConflict: (id, reason, actor) =>
      change(id, false, function* (_, { id: merchant }) {
        if ((yield* run(CLOSE_CONFLICT, { merchant, id })).count === 0) return false;
        const details = { reference: id, reason };
        yield* recordAction({ actor, action: "payment.close-conflict", merchantId: merchant, details });
        return true;
      }),
    async readHandoverFigures() {
      const [open, attention] = await executor.readAll(FIGURES.map((text) => ({ text })));
      const rails = new Set([...open!, ...attention!].map(({ rail }) => rail as string));
      const countOf = (rail: string, state: string) =>
        (open!.find((row) => row.rail === rail && row.state === state)?.count as number | undefined) ?? 0;
      return [...rails].toSorted().map((rail) => {
        const row = attention!.find((each) => each.rail === rail);
        const oldest = row && optional<number>(row.oldest);
        return {
          rail,
          waiting: countOf(rail, "waiting"),
          accepted: countOf(rail, "accepted"),
          conflicts: (row?.conflicts as number | undefined) ?? 0,
          ...(oldest !== undefined && { oldestUnknownSince: oldest }),
        };
      });
    },
    pauseRail: (rail, reason, actor) =>
      write(function* () {
        if ((yield* run(PAUSE, { rail, reason, by: actorName(actor) })).count === 0) return false;
        yield* recordAction({ actor, action: "rail.pause", merchantId: "", details: { rail, reason } });
        return true;
      }),
    resumeRail: (rail, actor) =>
      write(function* () {
        if ((yield* run(RESUME, { rail })).count === 0) return false;
        yield* recordAction({ actor, action: "rail.resume", merchantId: "", details: { rail } });
        return true;
      }),
    async readPauses() {
      return (await read({ text: PAUSES })).map((row) => ({
        rail: row.rail as string,
        at: row.at_real as number,
        by: row.paused_by as string,
        reason: row.reason as string,
      }));
    },
    async readHandovers(rail, { from, to }, after, limit) {
      const { createdAt: afterTime = from, reference: afterId = "" } = after ?? {};
      // The range of the index begins where the page does: SQLite does not derive it from the comparison of rows.
      const values = { rail, from: Math.max(from, afterTime), to, limit, afterTime, afterId };
      const kinds = Object.keys(TABLES) as Kind[];
      const found = await executor.readAll(kinds.map((kind) => ({ text: OF_RAIL(kind), values })));
      const summaries = found.flat().map(toSummary);
      return summaries.toSorted(bySchedule).slice(0, limit);
    },
  };
}

function toSummary(row: Row): HandoverSummary {
  const railFee = optional<number>(row.rail_fee);
  return {
    reference: row.id as string,
    merchantsReference: row.merchants_reference as string,
    merchantId: row.merchant_id as string,
    amount: row.amount as number,
    currency: row.currency as string,
    status: row.status as HandoverSummary["status"],
    state: row.state as HandoverSummary["state"],
    createdAt: row.created_real as number,
    ...(railFee !== undefined && { railFee }),
  };
}

const bySchedule = (a: HandoverSummary, b: HandoverSummary) =>
  a.createdAt - b.createdAt || (a.reference < b.reference ? -1 : 1);
