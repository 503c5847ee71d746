import { actorName, type Eyes } from "../../domain/audit.ts";
import { failureOf } from "../../domain/records.ts";
import { byHand } from "../../domain/handover-state.ts";
import type {
  ClaimedHandover,
  Decision,
  RailExchange,
  HandoverStore,
  HandoverSummary,
} from "../../domain/handovers.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import { optional, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { close, log, recordReports, settleAll } from "./handover-reports.ts";
import { RECORD_TABLES, toExchange, toHandover, toPayment, type Kind } from "./handover-rows.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Query, type QueueTable, type Work } from "./query.ts";
import { claimRows, queueOf, READY } from "./queue.ts";
import { eyesOf } from "./sign-in.ts";

/** A claim that ends without a report leaves it unknown whether the rail was asked to pay. */
export const HANDOVERS: QueueTable = {
  name: "handovers",
  lane: "rail",
  order: "id",
  lapse: "asked_leased = CASE WHEN leased_until IS NOT NULL AND state = 'waiting' THEN :leased ELSE asked_leased END",
};

const FIND = "SELECT * FROM handovers WHERE id = :id";
const LOCK = `SELECT *, leased_until IS NOT NULL AND leased_until > :leased AS is_underway FROM handovers
  WHERE merchant_id = :merchant AND id = :id FOR UPDATE`;
const RECORDS = (kind: Kind) =>
  `SELECT * FROM ${RECORD_TABLES[kind]} WHERE merchant_id = ANY(:merchants::text[]) AND reference = ANY(:references::text[])`;
const EXCHANGES = "SELECT * FROM exchanges WHERE merchant_id = :merchant AND handover_id = :id ORDER BY number";

const OF_ONE = "WHERE merchant_id = :merchant AND id = :id";
const ASK_NOW = `UPDATE handovers SET ${READY}, next_attempt_at = :now, step = 0 ${OF_ONE} AND state <> 'closed' AND leased_until IS NULL`;

const ATTENTION = (which: string) => `SELECT * FROM handovers WHERE attention_real IS NOT NULL
  AND (conflict IS NOT NULL OR attention_real < :before) ${which} ORDER BY attention_real, id LIMIT :limit`;
const PROPOSE = `UPDATE handovers SET proposal = :proposal ${OF_ONE}`;
const FIGURES = [
  `SELECT rail, state, count(*) AS count FROM handovers WHERE state <> 'closed' GROUP BY rail, state`,
  `SELECT rail, count(conflict) AS conflicts, min(CASE WHEN conflict IS NULL THEN attention_real END) AS oldest
    FROM (SELECT rail, conflict, attention_real FROM handovers WHERE attention_real IS NOT NULL
      ORDER BY attention_real LIMIT ${MOST_COUNTED}) AS attended GROUP BY rail`,
];
const PAUSE = `INSERT INTO rail_pauses (rail, at_real, paused_by, reason) VALUES (:rail, :now, :by, :reason)
  ON CONFLICT DO NOTHING`;
const RESUME = "DELETE FROM rail_pauses WHERE rail = :rail";
const PAUSES = "SELECT * FROM rail_pauses ORDER BY rail";
/**
 * Reads the page after a payment, with payments of both kinds: a search for one kind would read all payments of the
 * other kind.
 */
const OF_RAIL = `SELECT h.id, h.merchant_id, h.state, h.created_real, h.rail_fee, h.rail_reference,
    coalesce(d.merchants_reference, c.merchants_reference) AS merchants_reference,
    coalesce(d.amount, c.amount) AS amount, coalesce(d.currency, c.currency) AS currency,
    coalesce(d.status, c.status) AS status
  FROM handovers h
  LEFT JOIN disbursements d ON h.kind = 'disbursement' AND d.merchant_id = h.merchant_id AND d.reference = h.id
  LEFT JOIN checkouts c ON h.kind = 'checkout' AND c.merchant_id = h.merchant_id AND c.reference = h.id
  WHERE h.rail = :rail AND h.created_real >= :from AND h.created_real < :to
    AND (h.created_real, h.id) > (:afterTime, :afterId) ORDER BY h.created_real, h.id LIMIT :limit`;

/** The records of hand-overs, by reference. */
const recordQueries = (rows: readonly Row[]): Query[] => {
  const merchants = [...new Set(rows.map((row) => row.merchant_id))];
  const references = rows.map((row) => row.id);
  return (Object.keys(RECORD_TABLES) as Kind[]).map((kind) => ({
    text: RECORDS(kind),
    values: { merchants, references },
  }));
};
const byReference = (results: readonly (readonly Row[])[]) =>
  new Map(results.flat().map((row) => [row.reference, row]));

/** Notes what a person has decided, and ends the hand-over with its conflict. */
function* closeByHand(
  row: Row,
  { now: at }: LockedMerchant,
  result: RailExchange["result"],
  detail: string,
): Work<void> {
  yield* log([{ row, exchanges: [{ at, latencyMs: 0, action: "decision", result, detail }] }]);
  yield* runAll([close([{ row }])]);
}

export function handovers(executor: Executor): HandoverStore {
  const { read, write } = executor;
  const { promoteDue, readyLanes, renew } = queueOf(executor, HANDOVERS);
  // Attempts that end at the same time are recorded together, because each locks its merchant.
  const record = executor.together(recordReports);

  function* claimAll(lanes: Parameters<HandoverStore["claimHandovers"]>[0], leaseMs: number): Work<ClaimedHandover[]> {
    const rows = yield* claimRows(HANDOVERS, lanes, leaseMs);
    if (rows.length === 0) return [];
    const records = byReference((yield* runAll(recordQueries(rows))).map((result) => result.rows));
    return rows.map((row) => {
      const asked = optional<number>(row.asked_leased);
      // The lease of the claim begins now.
      const now = (row.leased_until as number) - leaseMs;
      return {
        lane: { merchantId: row.merchant_id, host: row.rail },
        id: row.id,
        token: row.claim_token,
        payment: toPayment(row, records.get(row.id)!),
        state: row.state,
        step: row.step,
        ...(asked !== undefined && { askedAgoMs: now - asked }),
      };
    });
  }

  const rowOf = async (id: string): Promise<Row | undefined> => (await read({ text: FIND, values: { id } }))[0];

  /** Changes an open hand-over inside a transaction that has locked it. */
  async function change<T>(
    id: string,
    otherwise: T,
    work: (row: Row, merchant: LockedMerchant) => Work<T>,
  ): Promise<T> {
    const row = await rowOf(id);
    if (!row) return otherwise;
    return write(function* () {
      const merchant = yield* lockMerchant(row.merchant_id, "orders");
      const [locked] = (yield* run(LOCK, { merchant: merchant.id, id })).rows;
      return yield* work(locked!, merchant);
    });
  }

  return {
    promoteHandovers: promoteDue,
    handoverLanes: readyLanes,
    renewHandovers: renew,
    claimHandovers: (lanes, leaseMs) => write(() => claimAll(lanes, leaseMs), { repeatable: true }),
    recordHandover: ({ lane, id, token }, report) => record({ merchantId: lane.merchantId, id, report, token }),
    async recordNotification(rail, id, report) {
      const row = await rowOf(id);
      if (row?.rail !== rail) return "unknown-payment";
      return record({ merchantId: row.merchant_id, id, report });
    },
    async findHandover(id) {
      const row = await rowOf(id);
      return row && toHandover(row, byReference(await executor.readAll(recordQueries([row]))).get(id)!);
    },
    async listExchanges(id) {
      const row = await rowOf(id);
      if (!row) return [];
      return (await read({ text: EXCHANGES, values: { merchant: row.merchant_id, id } })).map(toExchange);
    },
    async listAttention({ merchantId, unknownBefore: before, limit }) {
      const which = merchantId === undefined ? "" : "AND merchant_id = :merchant";
      const rows = await read({ text: ATTENTION(which), values: { before, limit, merchant: merchantId ?? null } });
      if (rows.length === 0) return [];
      const records = byReference(await executor.readAll(recordQueries(rows)));
      return rows.map((row) => toHandover(row, records.get(row.id)!));
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
        const { status, reason } = decision;
        const eyes = yield* eyesOf(actor, merchant.id);
        const entry = { actor, merchantId: merchant.id, details: { reference: id, status, reason } };
        const proposed = optional<string>(row.proposal);
        const before = {
          state: row.state,
          isUnderway: Boolean(row.is_underway),
          ...(proposed !== undefined && { proposal: JSON.parse(proposed) as Decision & { by: Eyes } }),
        };
        const result = byHand(before, status, { eyes, needsTwo });
        if (result === "proposed") {
          const proposal = JSON.stringify({ status, reason, by: eyes, at: merchant.now });
          yield* run(PROPOSE, { merchant: merchant.id, id, proposal });
          yield* recordAction({ ...entry, action: "payment.propose" });
        }
        if (result !== "decided") return result;
        const failure = status === "failed" ? failureOf("other", "The operator ended the payment by hand.") : undefined;
        const end = { row, merchant, answer: { status, ...(failure && { failure }) } };
        if ((yield* settleAll([end])).size > 0) return "not-pending";
        yield* closeByHand(row, merchant, status, `${actorName(actor)}: ${reason}`);
        yield* recordAction({ ...entry, action: "payment.decide" });
        return "decided";
      }),
    closeConflict: (id, reason, actor) =>
      change(id, false, function* (row, merchant) {
        if (row.conflict === null) return false;
        yield* closeByHand(row, merchant, "unknown", `${actorName(actor)}: ${reason}`);
        const entry = { actor, merchantId: merchant.id, details: { reference: id, reason } };
        yield* recordAction({ ...entry, action: "payment.close-conflict" });
        return true;
      }),
    async readHandoverFigures() {
      const [open, attention] = await executor.readAll(FIGURES.map((text) => ({ text })));
      const rails = new Set([...open!, ...attention!].map(({ rail }) => rail as string));
      const countOf = (rail: string, state: string) =>
        (open!.find((row) => row.rail === rail && row.state === state)?.count as number | undefined) ?? 0;
      return [...rails].toSorted().map((rail) => {
        const row = attention!.find((each) => each.rail === rail);
        return {
          rail,
          waiting: countOf(rail, "waiting"),
          accepted: countOf(rail, "accepted"),
          conflicts: (row?.conflicts as number | undefined) ?? 0,
          oldestUnknownSince: row && optional<number>(row.oldest),
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
        rail: row.rail,
        at: row.at_real,
        by: row.paused_by,
        reason: row.reason,
      }));
    },
    async readHandovers(rail, { from, to }, after, limit) {
      const { createdAt: afterTime = from, reference: afterId = "" } = after ?? {};
      // This condition lets the range of the index begin where the page begins: SQLite does not derive the range from
      // the comparison of rows.
      const values = { rail, from: Math.max(from, afterTime), to, limit, afterTime, afterId };
      return (await read({ text: OF_RAIL, values })).map(toSummary);
    },
  };
}

const toSummary = (row: Row): HandoverSummary => ({
  reference: row.id,
  merchantsReference: row.merchants_reference,
  merchantId: row.merchant_id,
  amount: row.amount,
  currency: row.currency,
  status: row.status,
  state: row.state,
  createdAt: row.created_real,
  railFee: optional(row.rail_fee),
  railReference: optional(row.rail_reference),
});
