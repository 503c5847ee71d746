import { encodeText } from "./text.ts";
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

interface Statement {
  name: string;
  text: string;
  /** Returns the values of the parameters that stand for times. */
  times: (() => number)[];
}

/**
 * Returns a function that makes a prepared statement of a text and its values. The names of times become additional
 * parameters. Every statement of this adapter is a constant text, so the cache does not grow.
 */
export function statements(time: Time) {
  const known = new Map<string, Statement>();

  function prepared(text: string, count: number): Statement {
    const found = known.get(text);
    if (found) return found;
    const times: Statement["times"] = [];
    let clocked = text;
    for (const name of NAMES) {
      if (!clocked.includes(name)) continue;
      const { sql, parameter } = time[name];
      clocked = clocked.replaceAll(name, sql(`$${count + times.length + 1}`));
      if (parameter) times.push(parameter);
    }
    const made = { name: `s${known.size}`, text: clocked, times };
    known.set(text, made);
    return made;
  }

  return (sql: string, values: readonly unknown[]) => {
    const { name, text, times } = prepared(sql, values.length);
    return { name, text, values: [...values.map(encode), ...times.map((value) => value())] };
  };
}

function encode(value: unknown): unknown {
  if (typeof value === "string") return encodeText(value);
  return Array.isArray(value) ? value.map(encode) : value;
}
