import { actorName, nameOf, type Actor, type AuditAction, type AccessChain } from "../../domain/audit.ts";
import { failureOf } from "../../domain/records.ts";
import { byHand } from "../../domain/handover-state.ts";
import type {
  ClaimedHandover,
  Decision,
  Handover,
  HandoverFigures,
  HandoverStore,
  HandoverSummary,
  RailPause,
} from "../../domain/handovers.ts";
import type { RailPayment } from "../../domain/rails.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import { KINDS, RECORDS } from "../rows.ts";
import { fields, optional, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { closeByHand, lockHandovers, recordReports, toConflict } from "./handover-reports.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Query, type QueueTable, type Work } from "./query.ts";
import { claimRows, queueOf, READY } from "./queue.ts";
import { endNow } from "./settling.ts";
import { chainOf } from "./sign-in.ts";

/** A claim that ends without a report leaves it unknown whether the rail was asked to pay. */
export const HANDOVERS: QueueTable = {
  name: "handovers",
  lane: "rail",
  order: "id",
  lapse: "asked_leased = CASE WHEN leased_until IS NOT NULL AND state = 'waiting' THEN :leased ELSE asked_leased END",
};

const FIND = "SELECT * FROM handovers WHERE id = :id";
/** The records of hand-overs. */
const FIND_RECORDS = KINDS.map(
  (kind) => `SELECT reference, merchants_reference, amount, currency, status, phone_number, details
    FROM ${RECORDS[kind].table} WHERE merchant_id = ANY(:merchants::text[]) AND reference = ANY(:references::text[])`,
).join(" UNION ALL ");

const OF_ONE = "WHERE merchant_id = :merchant AND id = :id";
const ASK_NOW = `UPDATE handovers SET ${READY}, next_attempt_at = :now, step = 0 ${OF_ONE} AND state <> 'closed' AND leased_until IS NULL`;

const ATTENTION = (which: string) => `SELECT * FROM handovers WHERE attention_real IS NOT NULL
  AND (conflict IS NOT NULL OR attention_real < :before) ${which} ORDER BY attention_real, id LIMIT :limit`;
const PROPOSE = `UPDATE handovers SET proposal = :proposal ${OF_ONE}`;
const FIGURES = `SELECT rail, sum(waiting)::bigint AS waiting, sum(accepted)::bigint AS accepted,
    sum(conflicts)::bigint AS conflicts, min(oldest) AS oldest_unknown_since FROM (
  SELECT rail, count(CASE state WHEN 'waiting' THEN 1 END) AS waiting, count(CASE state WHEN 'accepted' THEN 1 END) AS accepted,
      0 AS conflicts, NULL::bigint AS oldest
    FROM handovers WHERE state <> 'closed' GROUP BY rail
  UNION ALL SELECT rail, 0, 0, count(conflict), min(CASE WHEN conflict IS NULL THEN attention_real END)
    FROM (SELECT rail, conflict, attention_real FROM handovers WHERE attention_real IS NOT NULL
      ORDER BY attention_real LIMIT ${MOST_COUNTED}) AS attended GROUP BY rail) AS counted GROUP BY rail ORDER BY rail`;
const PAUSE = `INSERT INTO rail_pauses (rail, at_real, paused_by, reason) VALUES (:rail, :now, :by, :reason)
  ON CONFLICT DO NOTHING`;
const RESUME = "DELETE FROM rail_pauses WHERE rail = :rail";
const PAUSES = "SELECT * FROM rail_pauses ORDER BY rail";
const OF_RAIL = `SELECT merchant_id, id, state, created_real, rail_fee, rail_reference FROM handovers
  WHERE rail = :rail AND created_real >= :from AND created_real < :to
  AND (created_real, id) > (:afterTime, :afterId) ORDER BY created_real, id LIMIT :limit`;

const toFigures = fields<HandoverFigures>("rail waiting accepted conflicts oldest_unknown_since");
const toPause = fields<RailPause>("rail at_real paused_by:by reason");
const toSummary = fields<HandoverSummary>(
  "id:reference merchants_reference merchant_id amount currency status state created_real rail_fee rail_reference",
);
const paymentOf = fields<Omit<RailPayment, "country">>("kind id:reference amount currency created_real rail_reference");
const handoverOf = fields<Omit<Handover, "payment">>(
  "merchant_id status merchants_reference rail state next_attempt_at url",
);

/** The statement that finds the records of hand-overs. */
const recordsOf = (rows: readonly Row[]): Query => ({
  text: FIND_RECORDS,
  values: { merchants: [...new Set(rows.map((row) => row.merchant_id))], references: rows.map((row) => row.id) },
});

/** The rows of hand-overs with the columns of their records. */
function joined(rows: readonly Row[], records: readonly Row[]): Row[] {
  const byReference = new Map(records.map((record) => [record.reference, record]));
  return rows.map((row) => ({ ...byReference.get(row.id), ...row }));
}

function toPayment(row: Row): RailPayment {
  const { country, locale } = JSON.parse(row.details);
  return {
    ...paymentOf(row),
    country,
    ...(row.kind === "checkout" ? { locale } : { phoneNumber: row.phone_number }),
  };
}

function toHandover(row: Row): Handover {
  const conflict = toConflict(row);
  const proposal = row.proposal === null ? undefined : JSON.parse(row.proposal);
  return {
    payment: toPayment(row),
    ...handoverOf(row),
    unknownSince: conflict ? undefined : optional(row.attention_real),
    conflict,
    proposal: proposal && { ...proposal, by: nameOf(proposal.by) },
  };
}

export function handovers(executor: Executor): HandoverStore {
  const { read, write } = executor;
  const { promoteDue, readyLanes, renew } = queueOf(executor, HANDOVERS);
  // Attempts that end at the same time are recorded together, because each locks its merchant.
  const record = executor.together(recordReports);

  function* claimAll(lanes: Parameters<HandoverStore["claimHandovers"]>[0], leaseMs: number): Work<ClaimedHandover[]> {
    const rows = yield* claimRows(HANDOVERS, lanes, leaseMs);
    if (rows.length === 0) return [];
    const [records] = yield [recordsOf(rows)];
    return joined(rows, records!.rows).map((row) => {
      const asked = optional<number>(row.asked_leased);
      // The lease of the claim begins now.
      const now = (row.leased_until as number) - leaseMs;
      return {
        lane: { merchantId: row.merchant_id, host: row.rail },
        id: row.id,
        token: row.claim_token,
        payment: toPayment(row),
        state: row.state,
        step: row.step,
        ...(asked !== undefined && { askedAgoMs: now - asked }),
      };
    });
  }

  /** Reads hand-overs with the columns of their records. */
  async function readRows(query: Query): Promise<Row[]> {
    const rows = await read(query);
    return rows.length === 0 ? [] : joined(rows, await read(recordsOf(rows)));
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
      const [locked] = yield* lockHandovers([merchant.id], [id]);
      return yield* work(locked!, merchant);
    });
  }

  /** Pauses or resumes a rail. Resolves with false if nothing changed. */
  const changeRail = (text: string, action: AuditAction, actor: Actor, details: Record<string, string>) =>
    write(function* () {
      if ((yield* run(text, { ...details, by: actorName(actor) })).count === 0) return false;
      yield* recordAction({ actor, action, merchantId: "", details });
      return true;
    });

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
      return (await readRows({ text: FIND, values: { id } })).map(toHandover)[0];
    },
    listExchanges: async (id) => JSON.parse((await rowOf(id))?.exchanges ?? "[]"),
    async listAttention({ merchantId: merchant, unknownBefore: before, limit }) {
      const which = merchant === undefined ? "" : "AND merchant_id = :merchant";
      return (await readRows({ text: ATTENTION(which), values: { before, limit, merchant } })).map(toHandover);
    },
    askRailAgain: (id, actor) =>
      change(id, false, function* (row, { id: merchant }) {
        if (row.state === "closed") return false;
        yield* run(ASK_NOW, { merchant, id });
        yield* recordAction({ actor, action: "payment.ask", merchantId: merchant, details: { reference: id } });
        return true;
      }),
    decideByHand: (id, decision, actor, needsSecondPerson) =>
      change(id, "unknown-payment", function* (row, merchant) {
        const { status, reason } = decision;
        const chain = yield* chainOf(actor, merchant.id);
        const entry = { actor, merchantId: merchant.id, details: { reference: id, status, reason } };
        const proposed = optional<string>(row.proposal);
        const before = {
          state: row.state,
          isUnderway: row.leased_until !== null && row.leased_until > row.leased,
          ...(proposed !== undefined && { proposal: JSON.parse(proposed) as Decision & { by: AccessChain } }),
        };
        const result = byHand(before, status, { chain, needsSecondPerson });
        if (result === "proposed") {
          const proposal = JSON.stringify({ status, reason, by: chain, at: merchant.now });
          yield* run(PROPOSE, { merchant: merchant.id, id, proposal });
          yield* recordAction({ ...entry, action: "payment.propose" });
        }
        if (result !== "decided") return result;
        const failure = status === "failed" ? failureOf("other", "The operator ended the payment by hand.") : undefined;
        const end = { kind: row.kind, reference: id, merchant, status, failure };
        if ((yield* endNow([end])).size > 0) return "not-pending";
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
      return (await read({ text: FIGURES })).map(toFigures);
    },
    pauseRail: (rail, reason, actor) => changeRail(PAUSE, "rail.pause", actor, { rail, reason }),
    resumeRail: (rail, actor) => changeRail(RESUME, "rail.resume", actor, { rail }),
    async readPauses() {
      return (await read({ text: PAUSES })).map(toPause);
    },
    async readHandovers(rail, { from, to }, after, limit) {
      const { createdAt: afterTime = from, reference: afterId = "" } = after ?? {};
      // This condition lets the range of the index begin where the page begins: SQLite does not derive the range from
      // the comparison of rows.
      const values = { rail, from: Math.max(from, afterTime), to, limit, afterTime, afterId };
      return (await readRows({ text: OF_RAIL, values })).map(toSummary);
    },
  };
}
