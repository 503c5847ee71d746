/** The longest that dates stand still after time has gone back, in milliseconds. */
export const DATES_HELD_MS = 3_600_000;

/** Time as it is written into records. */
export interface Dates {
  /**
   * Real time for the dates of records. When time goes back because a clock was wrong, dates stand still until time has
   * passed them, but for at most an hour: then they go back too (D48).
   */
  dated(): number;
  /** Makes dates stand still until this time, which the storage has recorded. */
  datedUntil(latest: number): void;
}

export function createDates(now: () => number): Dates {
  let latest = 0;
  return {
    dated() {
      const time = now();
      if (latest < time || latest - time > DATES_HELD_MS) latest = time;
      return latest;
    },
    datedUntil(time) {
      if (time - now() <= DATES_HELD_MS) latest = Math.max(latest, time);
    },
  };
}
