import { createDates, type Dates } from "./dates.ts";

/** Real time and durations. It is passed in, so that tests control it. */
export interface Clock extends Dates {
  /** Milliseconds since 1970. Goes back if a clock that was wrong is corrected. */
  now(): number;
  /** A counter of milliseconds for durations. No change of the wall clock affects it. */
  monotonic(): number;
  /**
   * A counter of milliseconds that also counts how long the machine was suspended. It is for durations that other
   * processes measure too, such as leases: less time must never pass here than there. Every jump of the wall clock
   * forward counts as a suspension.
   */
  counter(): number;
  /** Resolves after `milliseconds` of real time, or as soon as the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /**
   * Compares this clock with the clock of the database.
   * @param database the database's time now
   * @param latest the latest time that any process has recorded; 0 if none has
   * @param accuracyMs how far from the truth `database` may be; a difference of less changes nothing
   */
  compare(database: number, latest: number, accuracyMs?: number): void;
}

/** The two sources of time of a process. */
export interface TimeSource {
  /** The wall clock, which can be set (by hand or by NTP). */
  wall(): number;
  monotonic(): number;
}

export type ClockName = "process" | "database";
/** By how much a clock differs from the server's time, or that it no longer differs. */
export interface ClockReport {
  clock: ClockName;
  /** Positive if the clock is ahead; 0 if it is right. */
  aheadMs: number;
  /** By how much the server's time has followed this clock; absent if it has not. */
  steppedMs?: number;
}

/** Clocks that differ by less count as equal. A larger sudden change is a jump. */
export const CLOCKS_AGREE_MS = 5_000;
/** How long a jump must last until the server's time follows it, if no other clock confirms it. */
const BELIEVED_AFTER_MS = 10_000;
const SUSPENDED_MS = 1_000;

/**
 * The time of the server. It follows the database's clock or, without one, the process's wall clock, as long as that
 * clock continues as the monotonic counter does. A clock that jumps is reported and not followed: time continues with
 * the other clock. If both clocks have jumped, or there is only one, a jump is followed once it has lasted. It is
 * followed at once if times that other processes have recorded show that the process was suspended.
 */
export function createSystemClock(
  report: (report: ClockReport) => void = () => {},
  { wall, monotonic }: TimeSource = systemTime,
): Clock {
  let offset = wall() - monotonic();
  let databaseOffset: number | undefined;
  /** True if another process has recorded the time that the database's clock shows. */
  let isConfirmed = false;
  let last = 0;
  let strayedAt: number | undefined;
  const reported: Record<ClockName, number> = { process: 0, database: 0 };

  function tell(clock: ClockName, aheadMs: number | undefined, steppedMs?: number) {
    if (aheadMs === undefined) return;
    const differs = Math.abs(aheadMs) > CLOCKS_AGREE_MS;
    const isNews = Math.abs(aheadMs - reported[clock]) > CLOCKS_AGREE_MS || (!differs && reported[clock] !== 0);
    if (!isNews && steppedMs === undefined) return;
    reported[clock] = differs ? aheadMs : 0;
    report({ clock, aheadMs: Math.round(reported[clock]), ...(steppedMs !== undefined && { steppedMs }) });
  }

  /** Follows the right clock, if it is certain which clock is right. */
  function follow() {
    const process = wall() - monotonic() - offset;
    const database = databaseOffset === undefined ? undefined : databaseOffset - offset;
    const right = rightOf(process, database, isConfirmed);
    if (right !== undefined) strayedAt = undefined;
    else strayedAt ??= monotonic();
    const hasLasted = strayedAt !== undefined && monotonic() - strayedAt >= BELIEVED_AFTER_MS;
    const by = right ?? (hasLasted ? (database ?? process) : 0);
    if (hasLasted) strayedAt = undefined;
    if (by !== 0) offset += by;
    const stepped = Math.abs(by) > CLOCKS_AGREE_MS ? Math.round(by) : undefined;
    const follows: ClockName = database === undefined ? "process" : "database";
    tell("process", process - by, follows === "process" ? stepped : undefined);
    tell("database", database === undefined ? undefined : database - by, stepped);
  }

  function now() {
    follow();
    const value = Math.floor(offset + monotonic());
    // For a small correction backwards the clock stands still instead.
    if (value > last || last - value > CLOCKS_AGREE_MS) last = value;
    return last;
  }

  let seenOffset = wall() - monotonic();
  let suspendedMs = 0;
  function counter() {
    const next = wall() - monotonic();
    if (next - seenOffset > SUSPENDED_MS) suspendedMs += next - seenOffset;
    seenOffset = next;
    return monotonic() + suspendedMs;
  }

  return {
    now,
    ...createDates(now),
    monotonic,
    counter,
    sleep,
    compare(read, latest, accuracyMs = 0) {
      const isFirst = databaseOffset === undefined;
      const own = isFirst ? wall() : offset + monotonic();
      const database = Math.abs(own - read) <= accuracyMs ? own : read;
      databaseOffset = database - monotonic();
      isConfirmed = agree(database - latest);
      if (isFirst) {
        const first = firstOf(wall(), database, latest);
        offset = first - monotonic();
        last = 0;
      }
      follow();
    },
  };
}

const agree = (ms: number) => Math.abs(ms) <= CLOCKS_AGREE_MS;

/**
 * Returns by how much the server's time differs from the right clock; undefined if it is not certain which clock is
 * right.
 */
function rightOf(process: number, database: number | undefined, isConfirmed: boolean): number | undefined {
  const followed = [database, process].find((each) => each !== undefined && agree(each));
  if (followed !== undefined || database === undefined) return followed;
  return isConfirmed && agree(database - process) ? database : undefined;
}

/**
 * Returns the time to start with. If the clocks of process and database differ, the right clock is the clock that is
 * closest after the latest recorded time. Other processes keep this time recent.
 */
function firstOf(process: number, database: number, latest: number): number {
  if (latest === 0 || agree(process - database)) return database;
  const possible = [process, database].filter((time) => time > latest - CLOCKS_AGREE_MS);
  return possible.length > 0 ? Math.min(...possible) : Math.max(process, database);
}

const systemTime: TimeSource = { wall: () => Date.now(), monotonic: () => performance.now() };

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}
