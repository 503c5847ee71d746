import type { Actor, NewEntry } from "../../domain/audit.ts";
import type { NewReplay, Replay } from "../../domain/webhooks.ts";
import type { Course } from "./event-search.ts";
import { fromJson, toObject, type Row } from "../rows.ts";

/** A stored replay, with the fields that only the storage uses. */
export interface StoredReplay extends Replay {
  course: Course;
}

export const toReplay = (row: Row): Replay =>
  toObject<Replay>({
    id: row.id,
    merchantId: row.merchant_id,
    filter: fromJson(row.filter),
    pace: row.pace,
    expected: row.expected,
    startedAt: row.started_real,
    startedBy: row.started_by,
    replayed: row.replayed,
    skipped: row.skipped,
    state: row.state,
    endedAt: row.ended_real,
    stoppedBy: row.stopped_by,
  });

export const toStoredReplay = (row: Row): StoredReplay => ({
  ...toReplay(row),
  course: { seq: row.seq, lastSeq: row.last_seq },
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
