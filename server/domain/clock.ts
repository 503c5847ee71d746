import { setTimeout } from "node:timers/promises";

/** Real time and durations. It is passed in, so that tests control it. */
export interface Clock {
  /** Milliseconds since 1970. Goes back if a clock that was wrong is corrected. */
  now(): number;
  /** A counter of milliseconds for durations. No change of the wall clock affects it. */
  monotonic(): number;
  /**
   * A counter of milliseconds that also counts how long the machine was suspended. It is for durations that other
   * processes measure too, such as leases: it must never run slower than theirs. Every jump of the wall clock
   * forward by more than a second counts as a suspension.
   */
  counter(): number;
  /** Resolves after `milliseconds` of real time, or as soon as the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /**
   * Makes this clock follow the clock of the database.
   * @param database the database's time now
   */
  follow(database: number): void;
}

/** What a process has noticed about its clock or the clock of the database. */
export interface ClockReport {
  clock: "process" | "database";
  /**
   * By how much the process's clock differs from the server's time: positive if it is ahead, 0 if it is right, and in each
   * report of a jump.
   */
  aheadMs: number;
  /** By how much the clock that the server follows has jumped; absent if it has not. */
  steppedMs?: number;
}

/** Clocks that differ by less count as equal. A larger sudden change is a jump. */
export const CLOCKS_AGREE_MS = 5_000;
const SUSPENDED_MS = 1_000;

/**
 * The time of the server: that of the database's clock, which all processes share, or without such a clock that of the
 * process's wall clock. A jump is followed and reported.
 */
export function createSystemClock(
  report: (report: ClockReport) => void = () => {},
  { wall, monotonic } = { wall: () => Date.now(), monotonic: () => performance.now() },
): Clock {
  /** By how much the clock that the server follows is ahead of the monotonic counter. */
  let offset = wall() - monotonic();
  let followsDatabase = false;
  let last = 0;
  let reportedMs = 0;

  function move(to: number) {
    const steppedMs = to - offset;
    offset = to;
    if (Math.abs(steppedMs) <= CLOCKS_AGREE_MS) return;
    report({ clock: followsDatabase ? "database" : "process", aheadMs: 0, steppedMs: Math.round(steppedMs) });
  }

  function now() {
    if (!followsDatabase) move(wall() - monotonic());
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
    monotonic,
    counter,
    sleep,
    follow(database) {
      const next = database - monotonic();
      if (!followsDatabase) offset = next;
      followsDatabase = true;
      move(next);
      const aheadMs = wall() - database;
      const differs = Math.abs(aheadMs) > CLOCKS_AGREE_MS;
      if (differs ? Math.abs(aheadMs - reportedMs) <= CLOCKS_AGREE_MS : reportedMs === 0) return;
      reportedMs = differs ? aheadMs : 0;
      report({ clock: "process", aheadMs: Math.round(reportedMs) });
    },
  };
}

const sleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  // An abort rejects.
  setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);

/** Returns the result of work, or undefined if the work takes longer than a number of real milliseconds. */
export async function within<T>(clock: Pick<Clock, "sleep">, ms: number, work: Promise<T>): Promise<T | undefined> {
  const ended = new AbortController();
  const late = clock.sleep(ms, ended.signal).then(() => undefined);
  return await Promise.race([work, late]).finally(() => ended.abort());
}
