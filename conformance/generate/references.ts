// Pairs of different references that a service may confuse, because its code or its database compares less than the
// whole text.

/**
 * @param fresh an unused reference
 * @param digits an unused whole number
 */
type Pair = (fresh: string, digits: string) => [string, string];

/** References whose difference is plain. A service that confuses them refuses payouts that were never made. */
export const differentReferences: readonly [difference: string, pair: Pair][] = [
  ["by leading zeros", (_, digits) => [digits, `00${digits}`]],
  ["by an exponent", (_, digits) => [`${digits}e3`, `${digits}000`]],
  ["by a decimal", (_, digits) => [digits, `${digits}.0`]],
  ["by the zeros of a date", (_, digits) => [`${digits}-01-02`, `${digits}-1-2`]],
  ["by a formula", (_, digits) => [`=${digits}+1`, `${BigInt(digits) + 1n}`]],
  ["by the plus sign of a phone number", (_, digits) => [`+${digits}`, digits]],
  ["by the 00 of a phone number", (_, digits) => [`+${digits}`, `00${digits}`]],
  ["by the letter before the digits", (_, digits) => [`a${digits}`, `b${digits}`]],
  ["by a hyphen", (fresh) => [`${fresh}-a`, `${fresh}a`]],
  ["by punctuation", (fresh) => [`${fresh}.a`, `${fresh}_a`]],
  ["in the 21st character", (fresh) => [`${fresh.padEnd(20, fresh)}a`, `${fresh.padEnd(20, fresh)}b`]],
  ["in the 33rd character", (fresh) => [`${fresh.padEnd(32, fresh)}a`, `${fresh.padEnd(32, fresh)}b`]],
  ["in the 64th character", (fresh) => [`${fresh.padEnd(63, fresh)}a`, `${fresh.padEnd(63, fresh)}b`]],
  ["by letters that Latin-1 lacks", (fresh) => [`${fresh}世`, `${fresh}界`]],
  ["by the upper byte of a letter", (fresh) => [`${fresh}A`, `${fresh}Ł`]],
  ["by percent-encoding", (fresh) => [`${fresh}b`, `${fresh}%62`]],
  ["by form encoding", (fresh) => [`${fresh} c`, `${fresh}+c`]],
  ["by an HTML entity", (fresh) => [`${fresh}&d`, `${fresh}&amp;d`]],
];

/** References that many databases treat as equal. The interface does not forbid this. */
export const lookalikes: readonly [difference: string, pair: Pair][] = [
  ["by case", (fresh) => [`${fresh}a`, `${fresh}A`]],
  ["by a trailing space", (fresh) => [fresh, `${fresh} `]],
  ["by a leading space", (fresh) => [fresh, ` ${fresh}`]],
  ["by Unicode normalisation", (fresh) => [`${fresh}é`, `${fresh}e\u0301`]],
  ["by an accent", (fresh) => [`${fresh}e`, `${fresh}é`]],
];

/** Words that programs confuse with a missing value. */
export const missingWords = ["null", "undefined", "0", "false"] as const;
