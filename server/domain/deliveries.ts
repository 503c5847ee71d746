import type { components } from "../../generated/openapi.ts";
import type { Actor } from "./audit.ts";
import type { EventType, Event } from "./events.ts";
import type { Merchant } from "./merchants.ts";
import type { Page } from "./pages.ts";
import type { Claimed, Lane, Queue } from "./queues.ts";
import type { WebhookSecrets } from "./secrets.ts";

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

/** A claimed delivery. Its lane and id are the lane and the id of its event. */
export interface ClaimedDelivery extends Claimed {
  event: Event;
  url: string;
  step: number;
  /** When the attempt fell due. */
  dueAt: number;
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

export interface DeliveryQueue {
  promoteDue: Queue<ClaimedDelivery>["promoteDue"];
  readyLanes: Queue<ClaimedDelivery>["readyLanes"];
  claimDeliveries: Queue<ClaimedDelivery>["claim"];
  renewClaims: Queue<ClaimedDelivery>["renew"];
  /**
   * Makes at most `limit` deliveries of a lane ready that wait for a retry, if at least `least` wait. The early attempt
   * does not count as an attempt of the schedule. Resolves with their number.
   */
  advanceRetries(lane: Lane, query: { least: number; limit: number }): Promise<number>;
  /**
   * Makes a delivery, in any status, ready again as if its event had just been written, so that a server delivers it.
   * Resolves with "claimed", and changes nothing, if an attempt is in progress.
   */
  requestReplay(merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown">;
  /**
   * Logs an attempt, releases the claim and schedules the next attempt. If the lease lapsed and the delivery has become
   * ready or been claimed again since, the attempt is only logged. Nothing is recorded after a reset, or for a second
   * attempt with the same claim. Attempts are numbered from 1; only the last 100 of a delivery are stored.
   * @returns true if the claim was still valid
   */
  recordAttempt(claim: Claim, attempt: Omit<Attempt, "number">, next: NextStep): Promise<boolean>;
}

/** A status of a delivery; `failed` stands for both statuses in which the server has given up (`ended`, `exhausted`). */
export type DeliveryFilter = DeliveryStatus | "failed";

/** Conditions for deliveries of a merchant. A search finds the deliveries that meet all conditions. */
export interface DeliverySearch {
  status?: DeliveryFilter;
  type?: EventType;
  /** Host and port of the receiver. */
  host?: string;
  /** The service's reference of a record. */
  reference?: string;
  /** Only deliveries of events created at or after this time. */
  createdAfter?: number;
  /** Only deliveries of events created before this time. */
  createdBefore?: number;
}

export interface PageQuery {
  merchantId: string;
  /** The service's reference of a record. If set, only the entries of that record are listed. */
  reference?: string;
  /** If set, only the entries of events created at or after this time are listed. */
  createdAfter?: number;
  limit: number;
  cursor?: string;
}

export interface EventLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listEvents(query: PageQuery): Promise<Page<Event>>;
  /** Lists the events that have an address. @throws InvalidCursorError as for `listEvents` */
  listDeliveries(query: PageQuery & DeliverySearch): Promise<Page<Delivery>>;
}
