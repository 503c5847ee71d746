import { encodeText } from "./text.ts";
import { NAMES, type Time } from "./time.ts";

interface Statement {
  name: string;
  text: string;
  /** Returns the values of the parameters that stand for times. */
  times: (() => number)[];
}

/**
 * Returns a function that makes a prepared statement of a text and its values. The names of times become additional
 * parameters. Every statement of this adapter is a constant text, so the cache does not grow.
 * @param skipLocked false for a database without SKIP LOCKED, where a statement waits for locked rows instead
 */
export function statements(time: Time, skipLocked = true) {
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
    const made = {
      name: `s${known.size}`,
      text: skipLocked ? clocked : clocked.replaceAll(" SKIP LOCKED", ""),
      times,
    };
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
