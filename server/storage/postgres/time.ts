import type { Clock } from "../../domain/clock.ts";

/** The database's clock, in milliseconds since 1970. */
export const DATABASE_CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

export const NAMES = [":now", ":leased"] as const;

/**
 * A time that a statement may name:
 * - `:now` is real time, in milliseconds since 1970;
 * - `:leased` is the counter that leases are measured with. No wall clock affects it (D47).
 */
interface Name {
  /** SQL that uses the parameter `place`. */
  sql(place: string): string;
  /** The value of that parameter; undefined if there is none. */
  parameter?(): number;
}
export type Time = Readonly<Record<(typeof NAMES)[number], Name>>;

const asNumber = (place: string) => `${place}::bigint`;

/** The database's clock, which all processes share. */
export const DATABASE_TIME: Time = {
  ":now": { sql: () => DATABASE_CLOCK },
  ":leased": { sql: () => "(SELECT leased FROM service WHERE id = 1)" },
};

/** This process's clock, for tests that control it. */
export function processTime(clock: Clock): Time {
  return {
    ":now": { sql: asNumber, parameter: clock.now },
    ":leased": { sql: asNumber, parameter: clock.monotonic },
  };
}
