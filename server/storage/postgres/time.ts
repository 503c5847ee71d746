import type { Clock } from "../../domain/clock.ts";

/** The meaning of `:now` in a statement: real time, in milliseconds since 1970. */
export interface Time {
  /** SQL that uses the parameter `place`. */
  sql(place: string): string;
  /** The value of that parameter. */
  parameter(): number;
  /** Notes a time that a statement returned, so that this process sees none before it. */
  seen(now: number): void;
}

/**
 * The database's clock, which all processes share. It is not set back below the latest time that this process has
 * seen.
 */
export function databaseTime(clock: Clock): Time {
  let latest = 0;
  return {
    sql: (place) => `greatest(${place}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`,
    parameter: () => latest,
    seen(now) {
      latest = Math.max(latest, now);
      clock.notBefore(now);
    },
  };
}

/** This process's clock, for tests that control it. */
export function processTime(clock: Clock): Time {
  return { sql: (place) => `${place}::bigint`, parameter: clock.now, seen: clock.notBefore };
}
