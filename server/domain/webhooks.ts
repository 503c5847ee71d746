import type { Actor } from "./audit.ts";
import type { RecordStore } from "./payments.ts";
import type { Clock } from "./clock.ts";
import type { DeliveryQueue, DeliverySearch, Delivery, EventLog } from "./deliveries.ts";
import { ServiceError } from "./errors.ts";
import type { Ids } from "./ids.ts";
import type { Page } from "./pages.ts";

/**
 * Makes a delivery ready for an attempt.
 * @param attempt the storage's `requestReplay`, or a server's, which waits a while for the attempt (D13)
 * @throws ServiceError `not_found`, or `delivery_in_progress` while another attempt is in progress
 */
export async function replayDelivery(
  storage: Pick<EventLog, "findDelivery">,
  attempt: DeliveryQueue["requestReplay"],
  ...[merchantId, id, actor]: Parameters<DeliveryQueue["requestReplay"]>
): Promise<Delivery> {
  if ((await attempt(merchantId, id, actor)) === "claimed") {
    throw new ServiceError(
      "delivery_in_progress",
      "An attempt of this delivery is in progress. Replay the delivery when the attempt has ended.",
    );
  }
  // A reset may have deleted the delivery meanwhile.
  const delivery = await storage.findDelivery(merchantId, id);
  if (!delivery) throw new ServiceError("not_found", "You have no delivery with this id.");
  return delivery;
}

/** Finds the webhooks of the payments that have this reference, which is the service's or the merchant's. */
export async function deliveriesOfPayment(
  storage: Pick<RecordStore & EventLog, "listDisbursements" | "listCheckouts" | "listDeliveries">,
  query: DeliverySearch & { merchantId: string; limit: number },
  reference: string,
): Promise<Page<Delivery>> {
  const named = { merchantId: query.merchantId, merchantsReference: reference, limit: 1 };
  const lists = await Promise.all([storage.listDisbursements(named), storage.listCheckouts(named)]);
  const references = new Set([reference, ...lists.flatMap(({ items }) => items.map((each) => each.reference))]);
  const pages = await Promise.all([...references].map((each) => storage.listDeliveries({ ...query, reference: each })));
  return { items: pages.flatMap(({ items }) => items) };
}

/** Replays in progress are jobs, which the storage keeps: a process that ends loses nothing of them (D13). */
export interface ReplayStore {
  /** Counts the deliveries that a replay of this filter would make ready. Reads a bounded number of deliveries. */
  countDeliveries(merchantId: string, filter: DeliverySearch): Promise<DeliveryCount>;
  /**
   * Stores a replay of the deliveries that exist now. Resolves with undefined, and stores nothing, if another replay of
   * the merchant is running.
   */
  startReplay(replay: NewReplay, actor: Actor): Promise<Replay | undefined>;
  /** Stops a replay for good. Resolves with false if the merchant has no such replay or it is not running. */
  stopReplay(merchantId: string, id: string, actor: Actor): Promise<boolean>;
  findReplay(merchantId: string, id: string): Promise<Replay | undefined>;
  /** Lists the newest first. */
  listReplays(merchantId: string, limit: number): Promise<Replay[]>;
  /**
   * Takes the next step of a replay, if a step is due: makes the next few deliveries ready, as `requestReplay` does,
   * except deliveries that are ready already or being attempted. One transaction stores this step and the replay's
   * progress, so each delivery is visited once, whichever processes call this.
   * @returns the number of deliveries made ready; undefined if no step is due
   */
  advanceReplay(): Promise<number | undefined>;
}

export interface DeliveryCount {
  count: number;
  /** False if there may be more. */
  isExact: boolean;
  /** The receivers of the counted deliveries, the receiver with the most first. */
  hosts: { host: string; count: number }[];
}

/** A replay before it is stored. */
export interface NewReplay {
  id: string;
  merchantId: string;
  filter: DeliverySearch;
  /** The most deliveries to make ready per second. */
  pace: number;
  /** How many deliveries are to be made ready; absent if they are too many to count. */
  expected?: number;
}

/** The replay of all deliveries that a filter finds, a few at a time (D13). All times are real time. */
export interface Replay extends NewReplay {
  startedAt: number;
  startedBy: Actor;
  /** How many deliveries it has made ready so far. */
  replayed: number;
  /** How many deliveries it has skipped, because they were ready already or being attempted. */
  skipped: number;
  state: "running" | "done" | "stopped";
  endedAt?: number;
  /** Who stopped it; absent if a reset of the sandbox did. */
  stoppedBy?: Actor;
}

/** The limits of a replay's pace, in deliveries per second, and the default. */
export const PACE = { least: 1, most: 500, usual: 20 };

/** @throws ServiceError `invalid_value` if the filter finds everything */
export function requireReplayable(filter: DeliverySearch): void {
  if (Object.keys(filter).length === 0) {
    throw new ServiceError("invalid_value", "Choose what to replay: a status, an event, a host or a time.");
  }
}

/**
 * Starts a replay. A server that does background work carries it out.
 * @returns undefined if another replay of the merchant is running
 * @throws ServiceError `invalid_value` for a filter that `requireReplayable` refuses, or an invalid pace
 */
export async function startReplay(
  { storage, clock, ids }: { storage: ReplayStore; clock: Clock; ids: Pick<Ids, "record"> },
  { merchantId, filter, pace }: Pick<NewReplay, "merchantId" | "filter" | "pace">,
  actor: Actor,
): Promise<Replay | undefined> {
  requireReplayable(filter);
  if (!Number.isInteger(pace) || pace < PACE.least || pace > PACE.most) {
    throw new ServiceError(
      "invalid_value",
      `The pace is a whole number from ${PACE.least} to ${PACE.most} per second.`,
    );
  }
  const { count, isExact } = await storage.countDeliveries(merchantId, filter);
  const replay = { id: ids.record(clock.now()), merchantId, filter, pace, ...(isExact && { expected: count }) };
  return storage.startReplay(replay, actor);
}
