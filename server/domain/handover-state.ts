import type { HandoverReport } from "./handovers.ts";
import type { RailAnswer } from "./rails.ts";
import type { FinalStatus } from "./records.ts";

/** A hand-over that has not ended, as far as its next state depends on it (D74). Times are real time. */
export interface OpenHandover {
  state: "waiting" | "accepted";
  /** The number of attempts since the state last changed. */
  step: number;
  /**
   * Doubt: until this time the rail may have been asked to pay, and nothing has shown since that it has the payment.
   * The end of a claim without a report begins doubt too (`HANDOVERS` of the storage).
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

/** `final`: what ends the payment. Otherwise the open hand-over, and when the rail is asked next, if that changes. */
export type Next = { final: FinalAnswer } | { open: OpenHandover; answer?: RailAnswer; askAt?: number };
export type FinalAnswer = RailAnswer & { status: FinalStatus };

const isFinal = (answer: RailAnswer): answer is FinalAnswer => answer.status !== "pending";

/**
 * The state of an open hand-over after an event. Doubt ends only when the rail says that it has the payment, and a
 * report of an attempt that does not hold the claim changes nothing of the claim in progress.
 */
export function next(before: OpenHandover, { report, token }: HandoverEvent, now: number): Next {
  const { answer, exchanges, askAgainAfterMs } = report;
  const isLate = token !== undefined && token !== before.token;
  if (answer && isFinal(answer)) {
    if (!isLate || answer.status === "success") return { final: answer };
    // The rail may have taken the payment from another attempt since, so this refusal proves nothing.
    return next(before, { report: { exchanges, isUnknown: true, askAgainAfterMs }, token }, now);
  }
  const holds = before.isClaimed && token === before.token;
  const asksNow = token === undefined && !answer && !before.isClaimed;
  const isUnknown = report.isUnknown === true;
  const open = {
    ...before,
    step: asksNow ? 0 : before.step + (holds ? Math.min(1, exchanges.length) : 0),
    ...(isUnknown && { unknownSince: before.unknownSince ?? now }),
    ...(isUnknown && before.state === "waiting" && { askedAt: now }),
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

/**
 * Whether a rail contradicts a final status. A checkout that is cancelled here and failed there is unpaid on both
 * sides.
 */
export const contradicts = (status: string, answer: FinalAnswer): boolean =>
  (status === "success") !== (answer.status === "success");
