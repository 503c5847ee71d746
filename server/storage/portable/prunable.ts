import type { PruneQuery } from "../../domain/housekeeping.ts";
import type { Row } from "../rows.ts";

/** The columns of an event that show whether it may be deleted. */
export const PRUNE_COLUMNS = "id, seq, created_at, octet_length(body) AS bytes, url, status, ready, claimed";

const isDone = ({ url, status, ready, claimed }: Row) => (url === null || status === "delivered") && !ready && !claimed;

/**
 * Splits a page of a merchant's events.
 * @returns the events that may be deleted unless they had a recent attempt, and where the next page begins
 */
export function prunable(rows: readonly Row[], { before, limit }: PruneQuery) {
  // Sandbox time is never behind real time, so an event with an earlier sandbox time is at least as old in real time.
  const isOld = ({ created_at: createdAt }: Row) => (createdAt as number) < before;
  // Later events usually have later times. Events of a time that a move of the clock has skipped are an exception: they
  // are deleted when the events before them are old enough.
  const isLast = rows.length < limit || !rows.every(isOld);
  return {
    candidates: rows.filter((row) => isOld(row) && isDone(row)),
    ...(isLast ? {} : { next: rows.at(-1)!.seq as number }),
  };
}

/** Adds up what the deletion of these events removes. */
export function prunedOf(rows: readonly Row[], attempts: number, next?: number) {
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  return { events: rows.length, attempts, bytes, ...(next === undefined ? {} : { next }) };
}
