import type { Actor } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import type { Ids } from "./ids.ts";
import type { DeliverySearch, ReplayStore } from "./storage.ts";

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

/** The replay of all deliveries that a filter finds, a few at a time (D64). All times are real time. */
export interface Replay extends NewReplay {
  startedAt: number;
  startedBy: Actor;
  /** How many deliveries it has made ready so far. */
  replayed: number;
  /** How many it has left alone, because they were ready already or being attempted. */
  skipped: number;
  state: "running" | "done" | "stopped";
  endedAt?: number;
  /** Who stopped it; absent if a reset of the sandbox did. */
  stoppedBy?: Actor;
}

/** The limits of a replay's pace, in deliveries per second, and what is used if nobody chose one. */
export const PACE = { least: 1, most: 500, usual: 20 };

interface Context {
  storage: ReplayStore;
  clock: Clock;
  ids: Pick<Ids, "record">;
}

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
  { storage, clock, ids }: Context,
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
