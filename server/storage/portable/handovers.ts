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
import { fields, optional, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { closeByHand, joined, lockHandovers, recordReports, recordsOf, toConflict } from "./handover-reports.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Query, type QueueTable, type Work } from "./query.ts";
import { claimRows, queueOf } from "./queue.ts";
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
const ATTENTION = (which: string) => `SELECT * FROM handovers WHERE attention_real IS NOT NULL
  AND (conflict IS NOT NULL OR attention_real < :before) ${which} ORDER BY attention_real, id LIMIT :limit`;
const PROPOSE = "UPDATE handovers SET proposal = :proposal WHERE merchant_id = :merchant AND id = :id";
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
const claimOf = fields<Pick<ClaimedHandover, "id" | "token" | "state" | "step">>("id claim_token:token state step");
const proposalOf = fields<{ proposal?: Decision & { by: AccessChain; at: number } }>("proposal");

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
  const { proposal } = proposalOf(row);
  return {
    payment: toPayment(row),
    ...handoverOf(row),
    unknownSince: conflict ? undefined : optional(row.attention_real),
    conflict,
    proposal: proposal && { ...proposal, by: nameOf(proposal.by) },
  };
}

type Note = (action: AuditAction, details?: Record<string, string>) => Work<void>;

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
      const { asked_leased: asked, leased_until: until, merchant_id: merchantId, rail: host } = row;
      // The lease of the claim begins now.
      const doubt = asked === null ? undefined : { askedAgoMs: until - leaseMs - asked };
      return { lane: { merchantId, host }, ...claimOf(row), payment: toPayment(row), ...doubt };
    });
  }

  /** Reads hand-overs with the columns of their records. */
  async function readRows(query: Query): Promise<Row[]> {
    const rows = await read(query);
    return rows.length === 0 ? [] : joined(rows, await read(recordsOf(rows)));
  }

  /** Changes a hand-over inside a transaction that has locked it. `note` records what a person does. */
  async function change<T>(
    id: string,
    actor: Actor,
    otherwise: T,
    work: (row: Row, merchant: LockedMerchant, note: Note) => Work<T>,
  ): Promise<T> {
    const [row] = await read({ text: FIND, values: { id } });
    if (!row) return otherwise;
    return write(function* () {
      const merchant = yield* lockMerchant(row.merchant_id, "orders");
      const [locked] = yield* lockHandovers([merchant.id], [id]);
      return yield* work(locked!, merchant, (action, details) =>
        recordAction({ actor, action, merchantId: merchant.id, details: { reference: id, ...details } }),
      );
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
    async findHandover(id) {
      const [row] = await readRows({ text: FIND, values: { id } });
      return row && { ...toHandover(row), exchanges: JSON.parse(row.exchanges) };
    },
    async listAttention({ merchantId: merchant, unknownBefore: before, limit }) {
      const which = merchant === undefined ? "" : "AND merchant_id = :merchant";
      return (await readRows({ text: ATTENTION(which), values: { before, limit, merchant } })).map(toHandover);
    },
    askRailAgain: (id, actor) =>
      change(id, actor, false, function* (row, { id: merchantId }, note) {
        if (row.state === "closed") return false;
        yield* recordReports([{ merchantId, id, report: { exchanges: [], askAgainAfterMs: 0 } }]);
        yield* note("payment.ask");
        return true;
      }),
    decideByHand: (id, decision, actor, needsSecondPerson) =>
      change(id, actor, "unknown-payment", function* (row, merchant, note) {
        const { status, reason } = decision;
        const chain = yield* chainOf(actor, merchant.id);
        const isUnderway = row.leased_until !== null && row.leased_until > row.leased;
        const standing = { status: row.status, isUnderway, ...proposalOf(row) };
        const result = byHand(standing, status, { chain, needsSecondPerson });
        if (result === "proposed") {
          const proposal = JSON.stringify({ status, reason, by: chain, at: merchant.now });
          yield* run(PROPOSE, { merchant: merchant.id, id, proposal });
          yield* note("payment.propose", { ...decision });
        }
        if (result !== "decided") return result;
        const failure = status === "failed" ? failureOf("other", "The operator ended the payment by hand.") : undefined;
        yield* endNow([{ kind: row.kind, reference: id, merchant, status, failure }]);
        yield* closeByHand(row, merchant, status, `${actorName(actor)}: ${reason}`);
        yield* note("payment.decide", { ...decision });
        return "decided";
      }),
    closeConflict: (id, reason, actor) =>
      change(id, actor, false, function* (row, merchant, note) {
        if (row.conflict === null) return false;
        yield* closeByHand(row, merchant, "unknown", `${actorName(actor)}: ${reason}`);
        yield* note("payment.close-conflict", { reason });
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
