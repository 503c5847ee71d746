// The state machine of a payment's way over a rail (D74). The storage reads a state, asks here, and writes the next state
// in one transaction. Times are real time, except doubt: its time is on the counter of leases, which no wall clock affects.
import { areTwoPeople, type AccessChain } from "./audit.ts";
import { failureOf, type FinalStatus } from "./records.ts";
import type { Decision, Handover, HandoverReport, HandoverState, Recorded } from "./handovers.ts";
import type { RailAnswer, RailPayment } from "./rails.ts";

/** A hand-over, as far as its next state depends on it. */
export interface HandoverBefore {
  kind: RailPayment["kind"];
  state: HandoverState;
  /** The number of attempts since the state last changed. */
  step: number;
  /**
   * Doubt: until this value of the counter the rail may have been asked to pay, and nothing has shown since that it has
   * the payment. The end of a claim without a report begins doubt too (`HANDOVERS` of the storage).
   */
  askedAt: number | null;
  unknownSince: number | null;
  /** The latest claim, and whether its attempt is in progress. */
  token: number;
  isClaimed: boolean;
}

/** What an attempt or a notification has shown. `token` is the token of the attempt's claim. */
export interface HandoverEvent {
  report: HandoverReport;
  token?: number;
}

/**
 * `final`: what the rail says has ended the payment. `open`: the hand-over goes on, and is asked about at `askAt`, if
 * that changes. Neither: a closed hand-over stays as it is.
 */
export type Next = { final?: FinalAnswer; open?: HandoverBefore; answer?: RailAnswer; askAt?: number };
export type FinalAnswer = RailAnswer & { status: FinalStatus };

/** Real time, and the counter of leases. */
type Times = Readonly<Record<"now" | "leased", number>>;

const isFinal = (answer: RailAnswer): answer is FinalAnswer => answer.status !== "pending";

/** A payout cannot be cancelled, so a rail that says `cancelled` has not paid it. */
const CANCELLED = { status: "failed", failure: failureOf("other", "The rail cancelled the payment.") } as const;

/**
 * The state of a hand-over after an event. Doubt ends only when the rail says that it has the payment, and a report of an
 * attempt that does not hold the claim changes nothing of the claim in progress.
 */
export function next(before: HandoverBefore, { report, token }: HandoverEvent, times: Times): Next {
  const { now, leased } = times;
  const { answer, exchanges, askAgainAfterMs } = report;
  const isClosed = before.state === "closed";
  const isLate = token !== undefined && token !== before.token;
  if (answer && isFinal(answer)) {
    const isCancelled = before.kind === "disbursement" && answer.status === "cancelled";
    // What contradicts a final status is a conflict, whoever has reported it.
    if (isClosed || !isLate || answer.status === "success")
      return { final: isCancelled ? { ...answer, ...CANCELLED } : answer };
    // The rail may have taken the payment from another attempt since, so this refusal proves nothing.
    return next(before, { report: { exchanges, isUnknown: true, askAgainAfterMs }, token }, times);
  }
  if (isClosed) return {};
  const holds = before.isClaimed && token === before.token;
  const asksNow = token === undefined && !answer && !before.isClaimed;
  const isUnknown = report.isUnknown === true;
  const open = {
    ...before,
    step: asksNow ? 0 : before.step + (holds ? Math.min(1, exchanges.length) : 0),
    ...(isUnknown && { unknownSince: before.unknownSince ?? now }),
    ...(isUnknown && before.state === "waiting" && { askedAt: leased }),
    ...(answer && { state: "accepted" as const, askedAt: null, unknownSince: null }),
    ...(answer && before.state === "waiting" && { step: 1 }),
    ...(holds && { isClaimed: false }),
  };
  return {
    open,
    ...(answer && { answer }),
    ...(holds ? { askAt: now + Math.round(askAgainAfterMs) } : asksNow && { askAt: now }),
  };
}

type Conflict = NonNullable<Handover["conflict"]>;

/**
 * What a final answer makes of a payment: its end, nothing, or a conflict with the status that it has for ever. A checkout
 * that is cancelled here and failed there is unpaid on both sides.
 * @param had the payment's status, if it was final before the answer
 * @param before the conflict that a person has not closed yet
 */
export function ended(
  answer: FinalAnswer,
  had: FinalStatus | undefined,
  before: Conflict | undefined,
  now: number,
): { recorded: Recorded; conflict?: Conflict } {
  if (had === undefined) return { recorded: "final" };
  if ((had === "success") !== (answer.status === "success"))
    return { recorded: "conflict", conflict: { at: before?.at ?? now, answer } };
  return { recorded: "recorded", conflict: before };
}

/** What a person's decision does to a payment. @param isUnderway true if a process may be sending it at this moment */
export function byHand(
  { state, isUnderway, proposal }: { state: string; isUnderway: boolean; proposal?: Decision & { by: AccessChain } },
  status: FinalStatus,
  { chain, needsSecondPerson }: { chain: AccessChain; needsSecondPerson: boolean },
): "not-pending" | "proposed" | "in-progress" | "decided" {
  if (state === "closed") return "not-pending";
  if (needsSecondPerson && (proposal?.status !== status || !areTwoPeople(proposal.by, chain))) return "proposed";
  return isUnderway ? "in-progress" : "decided";
}
