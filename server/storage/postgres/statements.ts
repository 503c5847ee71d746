import { encodeText } from "./text.ts";
import type { Time } from "./time.ts";

interface Statement {
  name: string;
  text: string;
  usesTime: boolean;
}

/**
 * Returns a function that makes a prepared statement of a text and its values. `:now` becomes a further parameter. Every
 * statement of this adapter is a constant text, so the cache does not grow.
 * @param skipLocked false for a database without SKIP LOCKED, where a statement waits for locked rows instead
 */
export function statements(time: Time, skipLocked = true) {
  const known = new Map<string, Statement>();

  function prepared(text: string, count: number): Statement {
    const found = known.get(text);
    if (found) return found;
    const usesTime = text.includes(":now");
    const clocked = usesTime ? text.replaceAll(":now", time.sql(`$${count + 1}`)) : text;
    const made = {
      name: `s${known.size}`,
      text: skipLocked ? clocked : clocked.replaceAll(" SKIP LOCKED", ""),
      usesTime,
    };
    known.set(text, made);
    return made;
  }

  return (sql: string, values: readonly unknown[]) => {
    const { name, text, usesTime } = prepared(sql, values.length);
    const encoded = values.map(encode);
    return { name, text, values: usesTime ? [...encoded, time.parameter()] : encoded };
  };
}

function encode(value: unknown): unknown {
  if (typeof value === "string") return encodeText(value);
  return Array.isArray(value) ? value.map(encode) : value;
}
