import type { Actor, NewEntry } from "../../domain/audit.ts";
import type { NewReplay, Replay } from "../../domain/replays.ts";
import type { DeliverySearch } from "../../domain/deliveries.ts";
import type { Course } from "./event-search.ts";
import { optional, type Row } from "../rows.ts";

/** A stored replay, with the fields that only the storage uses. */
export interface StoredReplay extends Replay {
  course: Course;
}

export function toReplay(row: Row): Replay {
  const expected = optional<number>(row.expected);
  const endedAt = optional<number>(row.ended_real);
  const stoppedBy = optional<Actor>(row.stopped_by);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    filter: JSON.parse(row.filter as string) as DeliverySearch,
    pace: row.pace as number,
    ...(expected !== undefined && { expected }),
    startedAt: row.started_real as number,
    startedBy: row.started_by as Actor,
    replayed: row.replayed as number,
    skipped: row.skipped as number,
    state: row.state as Replay["state"],
    ...(endedAt !== undefined && { endedAt }),
    ...(stoppedBy !== undefined && { stoppedBy }),
  };
}

export const toStoredReplay = (row: Row): StoredReplay => ({
  ...toReplay(row),
  course: { seq: row.seq as number, lastSeq: row.last_seq as number },
});

/** How many steps per second a replay has at most. Each step is a transaction. */
const STEPS_PER_SECOND = 4;

/** How many deliveries a step makes ready at most, so that the steps of a second have about the same size. */
export const stepSize = (pace: number): number => Math.ceil(pace / STEPS_PER_SECOND);

/** How long a replay must wait to keep its pace after making so many deliveries ready, in milliseconds. */
export const pauseAfter = (replayed: number, pace: number): number => Math.ceil((replayed * 1_000) / pace);

export function startEntry({ id, merchantId, filter, pace, expected }: NewReplay, actor: Actor): NewEntry {
  const conditions = Object.entries(filter).map(([name, value]) => [name, textOf(value)]);
  const details = { replay: id, ...Object.fromEntries(conditions), pace: `${pace} per second` };
  const count = expected === undefined ? {} : { deliveries: String(expected) };
  return { actor, action: "replay.start", merchantId, details: { ...details, ...count } };
}

/** Times are the only numbers of a filter. */
const textOf = (value: string | number): string => (typeof value === "number" ? new Date(value).toISOString() : value);

export const stopEntry = (merchantId: string, id: string, actor: Actor): NewEntry => ({
  actor,
  action: "replay.stop",
  merchantId,
  details: { replay: id },
});
