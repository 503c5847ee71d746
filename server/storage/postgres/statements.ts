import type { Clock } from "../../domain/clock.ts";
import { encodeText } from "./text.ts";

/** The database's clock, in milliseconds since 1970. */
export const DATABASE_CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** The times that a statement may name. All processes share these clocks. */
export const TIMES = {
  /** Real time, in milliseconds since 1970. */
  ":now": DATABASE_CLOCK,
  /** The counter that leases are measured with. No wall clock affects it (D47). */
  ":leased": "(SELECT leased FROM service WHERE id = 1)",
};

interface Statement {
  name: string;
  text: string;
  /** Returns the values of the parameters that stand for times. */
  times: (() => number)[];
}

/**
 * Returns a function that makes a prepared statement of a text and its values. Every statement of this adapter is a
 * constant text, so the cache does not grow.
 * @param clock the clock of a test, whose times become additional parameters
 */
export function statements(clock: Clock | undefined) {
  const known = new Map<string, Statement>();

  function prepared(text: string, count: number): Statement {
    const found = known.get(text);
    if (found) return found;
    const times: Statement["times"] = [];
    let clocked = text;
    for (const [name, sql] of Object.entries(TIMES)) {
      if (!clocked.includes(name)) continue;
      if (clock) times.push(name === ":now" ? clock.now : clock.monotonic);
      clocked = clocked.replaceAll(name, clock ? `$${count + times.length}::bigint` : sql);
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
