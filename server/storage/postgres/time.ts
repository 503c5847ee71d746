import { CLOCKS_AGREE_MS, type Clock } from "../../domain/clock.ts";

/** The database's clock, in milliseconds since 1970. */
export const DATABASE_CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Names whose SQL contains other names come first. */
export const NAMES = [":dated", ":now", ":leased"] as const;

/**
 * A time that a statement may name:
 * - `:now` is real time, in milliseconds since 1970;
 * - `:dated` is real time for dates of records, which stands still instead of going back (D48);
 * - `:leased` is the counter that leases are measured with. No wall clock affects it (D47).
 */
interface Name {
  /** SQL that uses the parameter `place`. */
  sql(place: string): string;
  /** The value of that parameter; undefined if there is none. */
  parameter?(): number;
}
export type Time = Readonly<Record<(typeof NAMES)[number], Name>>;

const realTime = (real: string) =>
  `(CASE WHEN abs(${DATABASE_CLOCK} - ${real}::bigint) <= ${CLOCKS_AGREE_MS} THEN ${DATABASE_CLOCK} ELSE ${real}::bigint END)`;

const asNumber = (place: string) => `${place}::bigint`;

/**
 * The database's clock, which all processes share. If the database's clock differs from this process's time, this
 * process's time counts, because it has been compared with more clocks.
 */
export function databaseTime(clock: Clock): Time {
  return {
    ":now": { sql: realTime, parameter: clock.now },
    ":dated": { sql: (place) => `greatest(:now, ${place}::bigint)`, parameter: () => heldDate(clock) },
    ":leased": { sql: () => "(SELECT leased FROM service WHERE id = 1)" },
  };
}

/** Returns the time at which dates stand still, or 0 if they do not. */
function heldDate(clock: Clock): number {
  const now = clock.now();
  const dated = clock.dated();
  return dated > now ? dated : 0;
}

/** This process's clock, for tests that control it. */
export function processTime(clock: Clock): Time {
  return {
    ":now": { sql: asNumber, parameter: clock.now },
    ":dated": { sql: asNumber, parameter: clock.dated },
    ":leased": { sql: asNumber, parameter: clock.monotonic },
  };
}
