import type { Actor } from "./audit.ts";
import type { EventType, Event } from "./events.ts";
import type { Merchant } from "./merchants.ts";
import type { WebhookSecrets } from "./secrets.ts";

export type DeliveryStatus = "pending" | "delivered" | "ended" | "exhausted";

export interface Attempt {
  number: number;
  at: number;
  /** Real time. */
  sentAt: number;
  latencyMs: number;
  httpStatus?: number;
  responseBody?: string;
  error?: string;
}

/** An event with an address, and the state of its delivery to that address. */
export interface Delivery extends Event {
  url: string;
  /** True if the merchant's listener makes the attempts (D69). */
  toListener?: true;
  status: DeliveryStatus;
  /** The number of attempts made so far in the retry schedule. A replay restarts the schedule. */
  step: number;
  nextAttemptAt?: number;
  attempts: Attempt[];
}

/** The deliveries of one merchant to one receiver. */
export interface Lane {
  merchantId: string;
  /** Host and port of the receiver; never empty. */
  host: string;
}

/** How many ready deliveries of a lane to claim. */
export interface LaneClaim extends Lane {
  count: number;
}

/**
 * A delivery that only its claimant may attempt until the lease ends. Each claim of a delivery has a different
 * fencing token, by which the storage recognises a claimant that has lost its claim.
 */
export interface ClaimedDelivery {
  event: Event;
  url: string;
  token: number;
  step: number;
  /** When the attempt fell due; absent if an earlier version had claimed the delivery for a replay. */
  dueAt?: number;
  merchant: Merchant;
  secrets: WebhookSecrets;
}

/** The parts of a claimed delivery that identify the claim. */
export type Claim = Pick<ClaimedDelivery, "event" | "token">;

/** The state of a delivery after an attempt. */
export interface NextStep {
  status: DeliveryStatus;
  step: number;
  /** Set only if `status` is pending. */
  nextAttemptAt?: number;
}

/**
 * The queue of deliveries. A delivery waits until it is due, then becomes ready, and is then claimed for an attempt.
 * The cost of finding due deliveries does not depend on how many are waiting. The caller decides which ready deliveries
 * to claim.
 */
export interface DeliveryQueue {
  /** Makes at most `limit` deliveries ready that are due or whose lease has lapsed. Resolves with their number. */
  promoteDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Lists at most `limit` lanes with ready deliveries, ordered by merchant and host, starting after the lane `after`.
   */
  readyLanes(query: { after?: Lane; limit: number; merchantId?: string }): Promise<Lane[]>;
  /**
   * Makes at most `limit` deliveries of a lane ready that wait for a retry, if at least `least` wait. The early attempt
   * does not count as an attempt of the schedule. Resolves with their number.
   */
  advanceRetries(lane: Lane, query: { least: number; limit: number }): Promise<number>;
  /** Claims ready deliveries. Within a lane, deliveries that fell due first are claimed first. */
  claimDeliveries(lanes: readonly LaneClaim[], leaseMs: number): Promise<ClaimedDelivery[]>;
  /**
   * Makes a delivery, in any status, ready again as if its event had just been written, so that a server delivers it.
   * Resolves with "claimed", and changes nothing, if an attempt is in progress.
   */
  requestReplay(merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown">;
  /**
   * Extends the leases of claims whose attempts are in progress; a lease of 0 ends the claims, and the deliveries are
   * due immediately. Ignores claims that are no longer valid.
   */
  renewClaims(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /**
   * Logs an attempt, releases the claim and schedules the next attempt. If the lease lapsed and the delivery has become
   * ready or been claimed again since, the attempt is only logged. After a reset nothing is recorded, and neither is a
   * second attempt with the same claim. Attempts are numbered from 1; only the last 100 of a delivery are stored.
   * @returns true if the claim was still valid
   */
  recordAttempt(claim: Claim, attempt: Omit<Attempt, "number">, next: NextStep): Promise<boolean>;
}

/** A status of a delivery; `failed` stands for both statuses in which the server has given up (`ended`, `exhausted`). */
export type DeliveryFilter = DeliveryStatus | "failed";

/** Which deliveries of a merchant to find: those that meet all conditions. */
export interface DeliverySearch {
  status?: DeliveryFilter;
  type?: EventType;
  /** Host and port of the receiver. */
  host?: string;
  /** The service's reference of a record. */
  reference?: string;
  /** Of events created at or after this time. */
  createdAfter?: number;
  /** Of events created before this time. */
  createdBefore?: number;
}
