// The state machine of a payment's way over a rail (D74). The storage reads a state, asks here, and writes the next state
// in one transaction. Times are real time, except those of doubt, which are on the monotonic counter of leases.
import { areTwoPeople, type AccessChain } from "./audit.ts";
import { failureOf, type FinalStatus } from "./records.ts";
import type { Decision, Handover, HandoverReport, HandoverState, Recorded } from "./handovers.ts";
import type { RailAnswer, RailPayment } from "./rails.ts";

type Conflict = NonNullable<Handover["conflict"]>;

/** A hand-over, as far as its next state depends on it. */
export interface HandoverFacts {
  kind: RailPayment["kind"];
  /** Of the record. */
  status: Handover["status"];
  state: HandoverState;
  /** The number of attempts since the state last changed. */
  step: number;
  /**
   * Doubt: the latest time, on the counter of leases, at which the rail may have been asked to pay, while nothing shows
   * that it has the payment. A claim that expires without a report begins doubt too (`HANDOVERS` of the storage).
   */
  askedAt?: number | undefined;
  unknownSince?: number | undefined;
  /** The latest claim, and whether its attempt is in progress. */
  token: number;
  isClaimed: boolean;
  /** Until a person resolves it. Only in the state `closed`. */
  conflict?: Conflict | undefined;
}

/** What an attempt or a notification has shown. `token` is the token of the attempt's claim. */
export interface HandoverEvent {
  report: HandoverReport;
  token?: number;
}

export interface Next {
  recorded: Recorded;
  after: HandoverFacts;
  /** When the rail is asked next, if that changes. */
  askAt?: number | undefined;
  /** What the rail has said. */
  answer?: RailAnswer | undefined;
  /** The answer that ends the record. */
  end?: FinalAnswer;
}
type FinalAnswer = RailAnswer & { status: FinalStatus };

/** Real time, and the counter of leases. */
type Times = Readonly<Record<"now" | "leased", number>>;

const isFinal = (answer: RailAnswer): answer is FinalAnswer => answer.status !== "pending";

/** A payout cannot be cancelled, so a rail that says `cancelled` has not paid it. */
const CANCELLED = { status: "failed", failure: failureOf("other", "The rail cancelled the payment.") } as const;

/** A hand-over that has ended, with the conflict that is open. */
export const closed = (before: HandoverFacts, conflict?: Conflict): HandoverFacts => ({
  ...before,
  state: "closed",
  askedAt: undefined,
  unknownSince: undefined,
  isClaimed: false,
  conflict,
});

/**
 * The state of a hand-over after an event. Doubt ends only when the rail says that it has the payment, and a report of an
 * attempt that does not hold the claim changes nothing of the claim in progress.
 */
export function next(before: HandoverFacts, { report, token }: HandoverEvent, times: Times): Next {
  const { now, leased } = times;
  const { answer, exchanges, askAgainAfterMs } = report;
  const isClosed = before.state === "closed";
  const isLate = token !== undefined && token !== before.token;
  if (answer && isFinal(answer)) {
    const isCancelled = before.kind === "disbursement" && answer.status === "cancelled";
    // What contradicts a final status is a conflict, whoever has reported it.
    if (isClosed || !isLate || answer.status === "success")
      return ended(before, isCancelled ? { ...answer, ...CANCELLED } : answer, now);
    // The rail may have taken the payment from another attempt since, so this refusal proves nothing.
    return next(before, { report: { exchanges, isUnknown: true, askAgainAfterMs }, token }, times);
  }
  if (isClosed) return { recorded: "recorded", after: before };
  const holds = before.isClaimed && token === before.token;
  const isDueNow = token === undefined && !answer && !before.isClaimed;
  const isUnknown = report.isUnknown === true;
  const after: HandoverFacts = {
    ...before,
    step: isDueNow ? 0 : before.step + (holds ? Math.min(1, exchanges.length) : 0),
    ...(isUnknown && { unknownSince: before.unknownSince ?? now }),
    ...(isUnknown && before.state === "waiting" && { askedAt: leased }),
    ...(answer && { state: "accepted", askedAt: undefined, unknownSince: undefined }),
    ...(answer && before.state === "waiting" && { step: 1 }),
    ...(holds && { isClaimed: false }),
  };
  const askAt = holds ? now + Math.round(askAgainAfterMs) : isDueNow ? now : undefined;
  return { recorded: "recorded", after, askAt, answer };
}

/**
 * What a final answer makes of a payment: its end, nothing, or a conflict with its final status. A checkout
 * that is cancelled here and failed there is unpaid on both sides.
 */
function ended(before: HandoverFacts, answer: FinalAnswer, now: number): Next {
  const { status, conflict } = before;
  if (status === "pending") return { recorded: "final", after: closed(before), answer, end: answer };
  if ((status === "success") === (answer.status === "success"))
    return { recorded: "recorded", after: closed(before, conflict), answer };
  return { recorded: "conflict", after: closed(before, { at: conflict?.at ?? now, answer }), answer };
}

/** What a person's decision does to a payment. @param isUnderway true if a process may be sending it at this moment */
export function byHand(
  before: { status: Handover["status"]; isUnderway: boolean; proposal?: Decision & { by: AccessChain } },
  status: FinalStatus,
  { chain, needsSecondPerson }: { chain: AccessChain; needsSecondPerson: boolean },
): "not-pending" | "proposed" | "in-progress" | "decided" {
  const { isUnderway, proposal } = before;
  if (before.status !== "pending") return "not-pending";
  if (needsSecondPerson && (proposal?.status !== status || !areTwoPeople(proposal.by, chain))) return "proposed";
  return isUnderway ? "in-progress" : "decided";
}
