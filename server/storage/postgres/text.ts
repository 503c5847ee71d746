/**
 * PostgreSQL stores neither NUL nor half of a surrogate pair, but a receiver's response and a caller's path may contain
 * both. The adapter stores such characters as U+FDD0, which Unicode reserves for internal use, and four hexadecimal
 * digits. It stores U+FDD0 itself in this way too, so that different texts stay different.
 */
const UNSTORABLE = /[\0\ufdd0]|\p{Surrogate}/gu;
const ESCAPED = /\ufdd0([0-9a-f]{4})/g;

export function encodeText(text: string): string {
  return text.replaceAll(UNSTORABLE, (character) => `\ufdd0${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function decodeText(text: string): string {
  if (!text.includes("\ufdd0")) return text;
  return text.replaceAll(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Compares two texts like PostgreSQL's collation "C" in most cases. Any order is right if all processes share it. */
export const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
