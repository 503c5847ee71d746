// Families of different references that a service may confuse, because its code or its database compares less than the
// whole text.

/** Returns references that all differ. `fresh` is an unused reference, `digits` an unused whole number. */
type Family = (fresh: string, digits: string) => string[];

/** Returns references that begin with the same unused text. */
const ending =
  (...ends: string[]): Family =>
  (fresh) =>
    ends.map((end) => fresh + end);
/** Returns references that begin alike, up to their 20th, 32nd and 63rd character, and two that end alike. */
function long(fresh: string): string[] {
  const text = fresh.repeat(5);
  const last = `${text.slice(0, 32)}-${text.slice(0, 30)}`;
  return [text.slice(0, 20), `${text.slice(0, 32)}.`, `${last}a`, `${last}b`, `0${last.slice(1)}b`];
}

/** References that differ plainly. A service that confuses them refuses payouts that were never made. */
export const differentReferences: readonly [difference: string, family: Family][] = [
  ["by leading zeros, a plus sign or a decimal", (_, digits) => [digits, `00${digits}`, `+${digits}`, `${digits}.0`]],
  ["by an exponent", (_, digits) => [`${digits}e3`, `${digits}000`]],
  ["by the zeros of a date", (_, digits) => [`${digits}-01-02`, `${digits}-1-2`]],
  ["by a formula", (_, digits) => [`=${digits}+1`, `${BigInt(digits) + 1n}`]],
  ["by punctuation", ending("a", "-a", "a-", ".a", "_a", "\\a", "\u2013a", "'a", "\u2019a")],
  ["by what follows a slash or a number sign", ending("", "/a", "#a")],
  ["after the 20th, the 32nd or the 63rd character, or in the first", long],
  ["by characters beyond the first plane of Unicode", ending("💸", "💳")],
  ["by the upper byte of a letter", ending("A", "Ł")],
  ["by percent-encoding or a wildcard", ending("b", "%62", "%b")],
  ["by form encoding or the number of spaces", ending(" c", "+c", "  c")],
  ["by HTML", ending("&d", "&amp;d", "<b>&d")],
];

/** References that many databases treat as equal. The interface lets a service refuse them, but not as duplicates. */
export const lookalikes: readonly [difference: string, family: Family][] = [
  ["by case, an accent or their Unicode form", ending("a", "A", "a\u200b", "é", "É", "e", "e\u0301", "ﬁ", "fi")],
  ["by a space", (fresh) => [fresh, `${fresh} `, ` ${fresh}`, `${fresh}\u00a0`]],
];

/** Words that programs confuse with a missing value, or with a property that every object has. */
export const missingWords = ["null", "undefined", "0", "false", "constructor"] as const;
