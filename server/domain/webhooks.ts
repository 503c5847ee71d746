import type { Actor } from "./audit.ts";
import type { DeliveryQueue, DeliverySearch, Delivery, EventLog } from "./deliveries.ts";
import { ServiceError } from "./errors.ts";

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

export interface ReplayStore {
  /** Counts the deliveries that a replay of this filter would schedule. Reads a bounded number of deliveries. */
  countDeliveries(merchantId: string, filter: DeliverySearch): Promise<DeliveryCount>;
  /**
   * Schedules the deliveries that exist now, the oldest first, a few in each transaction: each becomes due again as if its
   * event had just been written, and one after the other (D13). Leaves out deliveries that are ready already or being
   * attempted. Resolves with their number.
   * @throws ServiceError `invalid_value` if there may be more than MOST_REPLAYED; nothing was scheduled
   */
  replayAll(replay: Replay, actor: Actor): Promise<number>;
}

export interface DeliveryCount {
  count: number;
  /** False if there may be more. */
  isExact: boolean;
  /** The receivers of the counted deliveries, the receiver with the most first. */
  hosts: { host: string; count: number }[];
}

/** The replay of all deliveries that a filter finds. */
export interface Replay {
  merchantId: string;
  filter: DeliverySearch;
  /** How many deliveries become due per second. */
  pace: number;
}

/** The largest number of deliveries that a replay sends again. */
export const MOST_REPLAYED = 10_000;
/** The limits of a replay's pace, in deliveries per second, and the default. */
export const PACE = { least: 1, most: 500, usual: 20 };

/**
 * Counts what a replay would send again.
 * @throws ServiceError `invalid_value` if the filter finds everything, or too many to count
 */
export async function countReplay(
  storage: Pick<ReplayStore, "countDeliveries">,
  { merchantId, filter }: Pick<Replay, "merchantId" | "filter">,
): Promise<DeliveryCount> {
  requireFilter(filter);
  const found = await storage.countDeliveries(merchantId, filter);
  requireAllFound(found);
  return found;
}

function requireFilter(filter: DeliverySearch): void {
  if (Object.keys(filter).length > 0) return;
  throw new ServiceError("invalid_value", "Choose what to replay: a status, an event, a host or a time.");
}

/** @throws ServiceError `invalid_value` if there may be more deliveries than a replay sends again */
export function requireAllFound({ isExact }: Pick<DeliveryCount, "isExact">): void {
  if (isExact) return;
  throw new ServiceError(
    "invalid_value",
    `A replay sends at most ${MOST_REPLAYED} webhooks, and there may be more. Choose a shorter time, or one host.`,
  );
}

/**
 * Replays what a filter finds. Resolves with the number of deliveries that became due or will.
 * @throws ServiceError `invalid_value` as `countReplay` does, or for an invalid pace
 */
export async function replayAll(storage: ReplayStore, replay: Replay, actor: Actor): Promise<number> {
  const { pace } = replay;
  if (!Number.isInteger(pace) || pace < PACE.least || pace > PACE.most) {
    throw new ServiceError(
      "invalid_value",
      `The pace is a whole number from ${PACE.least} to ${PACE.most} per second.`,
    );
  }
  requireFilter(replay.filter);
  return storage.replayAll(replay, actor);
}
