import type { Actor, ActorName } from "./audit.ts";
import type { Claim, Queue } from "./deliveries.ts";
import type { RailAnswer, RailPayment } from "./rails.ts";
import type { FinalStatus } from "./records.ts";

/**
 * A payment's way over a rail (D73). `waiting`: the payment must still be given to the rail, or it is not known whether
 * the rail took it. `accepted`: the rail has it. `closed`: its outcome is known.
 */
export type HandoverState = "waiting" | "accepted" | "closed";

/** One call to a rail, one notification from it, or one decision of a person. */
export interface RailExchange {
  /** Real time. */
  at: number;
  action: "pay" | "collect" | "find" | "notification" | "decision";
  latencyMs: number;
  /** What the exchange showed: a status of the rail, `missing`, `unknown`, or `not-sent`. */
  result: RailAnswer["status"] | "missing" | "unknown" | "not-sent";
  /** For people: the rail's words, an error, or a person's reason. Contains no secret. */
  detail?: string;
}

/** A person's decision about a payment whose outcome the rail does not tell. */
export type Decision = { status: FinalStatus; reason: string };

/** A payment on its way over a rail, as people see it. Times are real time. */
export interface Handover {
  merchantId: string;
  payment: RailPayment;
  status: "pending" | FinalStatus;
  merchantsReference: string;
  rail: string;
  state: HandoverState;
  /** When the rail is asked next. */
  nextAttemptAt?: number;
  /** Since when it is not known whether the rail has the payment, or which status the payment has at the rail. */
  unknownSince?: number;
  /** Where the payer pays a checkout. */
  url?: string;
  /**
   * The rail's answer that contradicts the final status of the record (D74), until a person has closed the conflict.
   */
  conflict?: { at: number; answer: RailAnswer };
  /** A decision that a second person must confirm. */
  proposal?: Decision & { by: ActorName; at: number };
}

export interface ClaimedHandover extends Claim {
  payment: RailPayment;
  state: "waiting" | "accepted";
  /** The number of attempts since the state last changed. */
  step: number;
  /**
   * How long ago an earlier attempt may have sent the payment, if its outcome was never learned. Until it is proven that
   * the rail has no such payment, a refusal of the rail proves nothing. No wall clock affects this time.
   */
  askedAgoMs?: number;
}

/** What an attempt, or a notification, has shown. */
export interface HandoverReport {
  exchanges: readonly RailExchange[];
  /** What the rail knows of the payment, if the rail has reported it. */
  answer?: RailAnswer;
  /** True if it is unknown after the attempt what the rail did, or which status the payment has at the rail. */
  isUnknown?: boolean;
  /** When to ask again, in milliseconds from now, unless the answer is final. */
  askAgainAfterMs: number;
}

/** `final`: the report made the record final. */
export type Recorded = "recorded" | "final" | "conflict" | "unknown-payment";

/** The number of payments in each state, for metrics. */
export interface HandoverFigures {
  rail: string;
  waiting: number;
  accepted: number;
  conflicts: number;
  /** Real time. */
  oldestUnknownSince?: number;
}

export interface RailPause {
  rail: string;
  at: number;
  by: string;
  reason: string;
}

/** The queue of payments that must be handed over to a rail, or that a rail has (D73). */
export interface HandoverStore {
  promoteHandovers: Queue<ClaimedHandover>["promoteDue"];
  handoverLanes: Queue<ClaimedHandover>["readyLanes"];
  /** Resolves when the claim is committed durably, because the claim proves that the rail may have been asked. */
  claimHandovers: Queue<ClaimedHandover>["claim"];
  renewHandovers: Queue<ClaimedHandover>["renew"];
  /**
   * Records what an attempt has shown and releases its claim, or without a `token` what a rail has notified: without an
   * answer, the payment is then due now. A final answer gives the record its status and writes its event in the same
   * transaction; an answer that contradicts a final status becomes a conflict. An answer counts even if the claim has
   * ended meanwhile.
   */
  recordHandover(of: Omit<Claim, "token"> & { token?: number }, report: HandoverReport): Promise<Recorded>;
  /** With the last 100 requests to the rail about the payment and the rail's responses, in order. */
  findHandover(reference: string): Promise<(Handover & { exchanges: RailExchange[] }) | undefined>;
  /**
   * Lists payments with conflicts, and payments whose outcome has been unknown since this real time or longer, of one
   * merchant or of all, oldest first.
   */
  listAttention(query: { merchantId?: string; unknownBefore: number; limit: number }): Promise<Handover[]>;
  /** Makes a payment due now. Resolves with false if the payment has no open hand-over. */
  askRailAgain(reference: string, actor: Actor): Promise<boolean>;
  /**
   * Ends a pending payment by hand (D74). With `needsSecondPerson` the decision takes effect if another person
   * (`areTwoPeople`) has proposed the same status; otherwise it is stored as a proposal.
   */
  decideByHand(
    reference: string,
    decision: Decision,
    actor: Actor,
    needsSecondPerson: boolean,
  ): Promise<"decided" | "proposed" | "in-progress" | "not-pending" | "unknown-payment">;
  /** Closes a conflict. Resolves with false if there is none. */
  closeConflict(reference: string, reason: string, actor: Actor): Promise<boolean>;
  readHandoverFigures(): Promise<HandoverFigures[]>;
  /** Stops or resumes asking a rail, in all processes. Resolves with false if nothing changed. */
  pauseRail(rail: string, reason: string, actor: Actor): Promise<boolean>;
  resumeRail(rail: string, actor: Actor): Promise<boolean>;
  readPauses(): Promise<RailPause[]>;
  /** Reads all payments of a rail that were created in a period, page by page, for reconciliation. */
  readHandovers(
    rail: string,
    period: { from: number; to: number },
    after: Pick<HandoverSummary, "createdAt" | "reference"> | undefined,
    limit: number,
  ): Promise<HandoverSummary[]>;
}

/** Our side of a payment, for reconciliation. */
export type HandoverSummary = Pick<Handover, "merchantId" | "merchantsReference" | "status" | "state"> &
  Pick<RailPayment, "reference" | "amount" | "currency" | "createdAt" | "railReference"> & {
    /** What the rail charges, if the rail has reported it. */
    railFee?: number;
  };

/** A rail, as people see it. `isConfigured` is false for a rail that the configuration no longer names. */
export interface RailState extends HandoverFigures {
  isConfigured: boolean;
  pause: RailPause | undefined;
}

/** The rails of the configuration in its order, and other rails that have open payments or a pause. */
export async function readRailStates(
  storage: Pick<HandoverStore, "readHandoverFigures" | "readPauses">,
  configured: readonly string[],
): Promise<RailState[]> {
  const [figures, pauses] = await Promise.all([storage.readHandoverFigures(), storage.readPauses()]);
  const names = new Set([...configured, ...[...figures, ...pauses].map(({ rail }) => rail)]);
  return [...names].map((rail) => ({
    ...(figures.find((each) => each.rail === rail) ?? { rail, waiting: 0, accepted: 0, conflicts: 0 }),
    isConfigured: configured.includes(rail),
    pause: pauses.find((each) => each.rail === rail),
  }));
}
