import type { Clock } from "../../domain/clock.ts";
import type { Columns } from "../schema.ts";
import type { Query, QueryValue } from "../portable/query.ts";
import type { Statement } from "./connections.ts";
import { encodeText } from "./text.ts";

/** The database's clock, in milliseconds since 1970. */
export const DATABASE_CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** The times that a statement may name. All processes share these clocks. */
const TIMES: Readonly<Record<string, string>> = {
  /** Real time, in milliseconds since 1970. */
  now: DATABASE_CLOCK,
  /** The counter that leases are measured with. No wall clock affects it (D47). */
  leased: "(SELECT leased FROM service WHERE id = 1)",
};

interface Prepared {
  name: string;
  text: string;
  /** The columns of the given rows, then the other parameters. */
  columns: readonly string[];
  names: readonly string[];
}

/**
 * Returns a function that makes a prepared statement of a query, with `$1`, `$2`, … instead of names. Every text is a
 * constant, so the cache does not grow.
 * @param clock the clock of a test, whose times become parameters
 */
export function statements(clock?: Clock): (query: Query) => Required<Statement> {
  const known = new Map<string, Prepared>();
  const times: Readonly<Record<string, () => number>> = clock
    ? { now: () => clock.now(), leased: () => clock.monotonic() }
    : {};

  function prepare(sql: string, types: Columns = {}): Prepared {
    const columns = Object.keys(types);
    const given = columns.map((name, index) => `$${index + 1}::${types[name]}[]`).join(", ");
    const names: string[] = [];
    const text = sql
      .replaceAll(":rows", `unnest(${given}) AS given (${columns.join(", ")})`)
      .replaceAll(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
        if (name in TIMES && !clock) return TIMES[name]!;
        if (!names.includes(name)) names.push(name);
        return `$${columns.length + names.indexOf(name) + 1}${name in TIMES ? "::bigint" : ""}`;
      });
    return { name: `s${known.size}`, text, columns, names };
  }

  return ({ text: texts, values = {}, rows }) => {
    const sql = typeof texts === "string" ? texts : texts.postgres;
    const prepared = known.get(sql) ?? prepare(sql, rows?.columns);
    known.set(sql, prepared);
    const { name, text, columns, names } = prepared;
    const given = columns.map((column) => rows!.values.map((row) => encode(row[column])));
    return { name, text, values: [...given, ...names.map((each) => times[each]?.() ?? encode(values[each]))] };
  };
}

function encode(value: QueryValue | undefined): unknown {
  if (typeof value === "string") return encodeText(value);
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Array.isArray(value) ? value.map(encode) : (value ?? null);
}
