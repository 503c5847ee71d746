// Converts and compares JSON values. `String` and `Number` throw a TypeError for an object whose `toString` is not a
// function, such as {"toString": 1}. A target can send such objects, and the suite sends them to targets.
import { isDeepStrictEqual } from "node:util";

/** Returns a text as it is, and the JSON text of another value. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");

/** Returns the number that a JSON number or text states, and NaN for another value. */
export const numberOf = (value: unknown): number =>
  typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;

/** Returns true if two JSON values are the same. The order of an object's fields does not matter, and 0 equals -0. */
export const equal = (a: unknown, b: unknown): boolean => a === b || isDeepStrictEqual(a, b);

/** Decodes the percent-encoding in a part of a path. Text with an invalid encoding stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
