import type { components } from "../../generated/openapi.ts";
import type { Actor } from "./audit.ts";
import { ServiceError } from "./errors.ts";
import type { EventType, Event } from "./events.ts";
import type { Merchant } from "./merchants.ts";
import type { Page } from "./pages.ts";
import type { WebhookSecrets } from "./keys.ts";

type Schemas = components["schemas"];

export type DeliveryStatus = Schemas["DeliveryStatus"];

export interface Attempt extends Omit<Schemas["Attempt"], "at" | "sentAt"> {
  at: number;
  /** Real time. */
  sentAt: number;
}

/** An event with an address, and the state of its delivery to that address. */
export interface Delivery extends Event {
  url: string;
  status: DeliveryStatus;
  /** The number of attempts made so far in the retry schedule. A replay restarts the schedule. */
  step: number;
  nextAttemptAt?: number;
  attempts: Attempt[];
}

/** The number of the last of a delivery's attempts, 0 if there is none. */
export const lastNumber = (attempts: readonly Pick<Attempt, "number">[]): number => attempts.at(-1)?.number ?? 0;

export const noDelivery = () => new ServiceError("not_found", "You have no delivery with this id.");

/** A claimed delivery, with all that an attempt needs. */
export interface ClaimedDelivery extends Claim, Omit<Event, "id">, Pick<Delivery, "url" | "step" | "attempts"> {
  /** When the attempt fell due. */
  dueAt: number;
  merchant: Merchant;
  /** Also secrets that have expired: the webhook may be dated at a time when they still signed. */
  secrets: WebhookSecrets;
}

/** The state of a delivery after an attempt, with the time of the next attempt if it is pending. */
export type NextStep = Pick<Delivery, "status" | "step" | "nextAttemptAt">;

export interface DeliveryQueue extends Pick<Queue<ClaimedDelivery>, "promoteDue" | "readyLanes"> {
  claimDeliveries: Queue<ClaimedDelivery>["claim"];
  renewClaims: Queue<ClaimedDelivery>["renew"];
  /**
   * Makes a delivery, in any status, ready again as if its event had just been written, so that a server delivers it.
   * Resolves with the number of its last attempt, 0 if it has none.
   * @throws ServiceError `not_found`, or `delivery_in_progress` while an attempt is in progress; nothing has changed
   */
  requestReplay(merchantId: string, id: string, actor: Actor): Promise<number>;
  /**
   * Schedules the deliveries that a filter finds now, the oldest first, a few in each transaction: each becomes due again
   * as if its event had just been written, and one after the other (D13). Leaves out deliveries that are ready already,
   * are being attempted, or were attempted or replayed since. Resolves with their number.
   * @throws ServiceError as `countDeliveries` does; nothing was scheduled
   */
  replayAll(replay: Replay, actor: Actor): Promise<number>;
  /**
   * Logs an attempt, releases the claim and schedules the next attempt. If the lease lapsed and the delivery has become
   * ready or been claimed again since, the attempt is only logged. Nothing is recorded after a reset, or for a second
   * attempt with the same claim. Attempts are numbered from 1; only the last 100 of a delivery are stored.
   * @param retries how many deliveries of the same lane that wait for a retry become ready too. Such an early attempt does
   *   not count as an attempt of the schedule
   * @returns whether the claim was still valid, and whether a delivery became ready
   */
  recordAttempt(
    claim: Claim,
    attempt: Omit<Attempt, "number">,
    next: NextStep,
    retries?: number,
  ): Promise<{ isValid: boolean; hasMadeReady: boolean }>;
}

/** A status of a delivery; `failed` stands for both statuses in which the server has given up (`ended`, `exhausted`). */
export type DeliveryFilter = DeliveryStatus | "failed";

/** Conditions for deliveries of a merchant. A search finds the deliveries that meet all of them. */
export interface DeliverySearch {
  status?: DeliveryFilter;
  type?: EventType;
  /** Host and port of the receiver. */
  host?: string;
  /** The service's reference of a record. */
  reference?: string;
  /** When the event was created: at or after this time. */
  createdAfter?: number;
  createdBefore?: number;
}

export interface EventQuery extends Pick<DeliverySearch, "reference" | "createdAfter"> {
  merchantId: string;
  limit: number;
  cursor?: string;
}

/** The deliveries that a replay sends again. */
export interface Replay {
  merchantId: string;
  filter: DeliverySearch;
  /** How many deliveries become due per second. */
  pace: number;
  /** When it was decided, in real time: what was attempted or replayed since is left out. The default is now. */
  decidedAt?: number;
}

/** The largest number of deliveries that a replay sends again. */
export const MOST_REPLAYED = 10_000;
/** The limits of a replay's pace, in deliveries per second, and the default. */
export const PACE = { least: 1, most: 500, usual: 20 };

export interface EventLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listEvents(query: EventQuery): Promise<Page<Event>>;
  /** Lists the events that have an address. @throws InvalidCursorError as for `listEvents` */
  listDeliveries(query: EventQuery & DeliverySearch): Promise<Page<Delivery>>;
  /**
   * Counts the deliveries that a replay of this filter would schedule, also by receiver, the receiver with the most first.
   * @throws ServiceError `invalid_value` if there may be more than MOST_REPLAYED
   */
  countDeliveries(
    merchantId: string,
    filter: DeliverySearch,
  ): Promise<{ count: number; hosts: { host: string; count: number }[] }>;
}

/** The waiting work of one merchant in one place: the deliveries to a receiver, or the hand-overs to a rail. */
export interface Lane {
  merchantId: string;
  /** Host and port of the receiver, or the name of the rail; never empty. */
  host: string;
}

export interface LaneClaim extends Lane {
  count: number;
}

/**
 * An entry of a queue that only its claimant may attempt until the lease ends. Each claim of an entry has a different
 * fencing token, by which the storage recognises a claimant that has lost its claim.
 */
export interface Claim {
  lane: Lane;
  id: string;
  token: number;
}

/**
 * A queue. An entry waits until it is due, then becomes ready, and is then claimed for an attempt. The cost of finding due
 * entries does not depend on how many are waiting. The caller decides which ready entries to claim.
 */
export interface Queue<C extends Claim> {
  /** Makes at most `limit` entries ready that are due or whose lease has lapsed. Resolves with their number. */
  promoteDue(limit: number): Promise<number>;
  /**
   * Lists at most `limit` lanes with ready entries, ordered by merchant and host, starting after the lane `after`.
   */
  readyLanes(query: { after?: Lane; limit: number }): Promise<Lane[]>;
  /** Claims ready entries. Within a lane, entries that fell due first are claimed first. */
  claim(lanes: readonly LaneClaim[], leaseMs: number): Promise<C[]>;
  /** Extends the leases of claims whose attempts are in progress. Ignores claims that are no longer valid. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<void>;
}
