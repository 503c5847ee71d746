// Converts JSON values. `String` and `Number` throw a TypeError for an object whose `toString` is not a function, such
// as {"toString": 1}. A target can send such objects, and the suite sends them to targets.

/** Returns a text as it is, and the JSON text of another value. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");

/** Returns the number that a JSON number or text states, and NaN for another value. */
export const numberOf = (value: unknown): number =>
  typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
