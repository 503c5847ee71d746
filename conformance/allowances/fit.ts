// Compares the values of a request with the limits of the target, and replaces values outside them.
import type { Declaration } from "./declaration.ts";

type Fields = Record<string, unknown>;

/** Returns true if the phone number is in one of the ranges. */
export const inRanges = (ranges: readonly string[], phoneNumber: string): boolean =>
  ranges.some((range) => {
    const digits = range.replace(/x+$/, "");
    return phoneNumber.startsWith(digits) && (digits === range || phoneNumber.length === range.length);
  });

const characters = (allowed: string) => new RegExp(`[${allowed}]`, "u");

/** Returns the limit that a reference exceeds, in words; undefined if it exceeds none. */
function referenceLimit({ longestReference, referenceCharacters }: Declaration, reference: unknown) {
  if (typeof reference !== "string") return undefined;
  if (longestReference !== undefined && [...reference].length > longestReference)
    return `references of more than ${longestReference} characters`;
  if (referenceCharacters === undefined) return undefined;
  const allowed = characters(referenceCharacters);
  return [...reference].every((each) => allowed.test(each))
    ? undefined
    : `references with characters other than ${referenceCharacters}`;
}

function amountLimit({ largestAmount, smallestAmount }: Declaration, amount: unknown) {
  if (typeof amount !== "number") return undefined;
  if (largestAmount !== undefined && amount > largestAmount) return `amounts above ${largestAmount}`;
  // The interface demands that an amount of 1 is accepted, so a smallest amount excuses nothing.
  return smallestAmount !== undefined && amount > 1 && amount < smallestAmount
    ? `amounts below ${smallestAmount}`
    : undefined;
}

/** Returns the limit that a recipient exceeds, in words; undefined if it exceeds none. */
export function recipientLimit({ countries, currencies, numberRanges }: Declaration, fields: Fields) {
  const { country, currency, phoneNumber } = fields;
  if (countries && /^[A-Z]{2}$/.test(String(country)) && !countries.includes(String(country)))
    return `countries other than ${countries.join(", ")}`;
  if (currencies && /^[A-Z]{3}$/.test(String(currency)) && !currencies.includes(String(currency)))
    return `currencies other than ${currencies.join(", ")}`;
  if (numberRanges && /^[0-9]{10,15}$/.test(String(phoneNumber)) && !inRanges(numberRanges, String(phoneNumber)))
    return `phone numbers other than ${numberRanges.join(", ")}`;
  return undefined;
}

const isHttp = (value: unknown) => typeof value === "string" && /^http:\/\//i.test(value);

/**
 * Returns the limit that a request's values exceed, in words, such as "amounts above 1000000"; undefined if they exceed
 * none.
 */
export function exceeded(limits: Declaration, fields: Fields): string | undefined {
  return (
    amountLimit(limits, fields["amount"]) ??
    referenceLimit(limits, fields["reference"]) ??
    recipientLimit(limits, fields) ??
    (limits.httpsWebhooks && isHttp(fields["webhookURL"]) ? "webhook addresses without https" : undefined)
  );
}

/**
 * Returns a reference that every target accepts, because it has at most 20 characters, which are lower-case letters,
 * digits and a hyphen.
 * @param runId 10 hexadecimal digits
 */
export const freshReference = (runId: string, count: number) => `c${runId}-${count}`;

/**
 * Replaces the characters that a reference may not contain and keeps its end, which makes it unique. A letter in the
 * other case replaces one that is not allowed; any other character is removed.
 */
export function fittedReference({ longestReference, referenceCharacters }: Declaration, reference: string): string {
  const allowed = referenceCharacters === undefined ? undefined : characters(referenceCharacters);
  const kept = [...reference].map((each) => {
    const ways = [each, each.toUpperCase(), each.toLowerCase(), ""];
    return allowed ? (ways.find((way) => way === "" || allowed.test(way)) ?? "") : each;
  });
  return (longestReference === undefined ? kept : kept.slice(-longestReference)).join("");
}

/** Returns the amount or, if it is valid but outside the limits, the nearest amount inside them. */
export function fittedAmount(limits: Declaration, amount: unknown): unknown {
  const { smallestAmount = 1, largestAmount = Infinity } = limits;
  return amountLimit(limits, amount) === undefined
    ? amount
    : Math.min(largestAmount, Math.max(smallestAmount, Number(amount)));
}

const patterns: Record<string, RegExp> = {
  phoneNumber: /^[0-9]{10,15}$/,
  country: /^[A-Z]{2}$/,
  currency: /^[A-Z]{3}$/,
};
const isValid = (name: string, value: unknown) => typeof value === "string" && (patterns[name]?.test(value) ?? false);

/** Returns the fields of `home` whose values in `fields` are valid. */
const onlyValid = (home: Fields, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(home).filter(([name]) => isValid(name, fields[name])));

/**
 * Returns a disbursement whose values are inside the limits. Invalid values stay, because a check sends them on
 * purpose.
 * @param home the country, currency and phone number to use if those of the disbursement are not served
 * @param own phone numbers that the caller gave, which always stay
 */
export function fitted(limits: Declaration, fields: Fields, home: Fields, own: readonly unknown[] = []): Fields {
  const { reference, amount } = fields;
  const ranges = own.includes(fields["phoneNumber"]) ? { ...limits, numberRanges: undefined } : limits;
  return {
    ...fields,
    ...(typeof reference === "string" ? { reference: fittedReference(limits, reference) } : {}),
    ...("amount" in fields ? { amount: fittedAmount(limits, amount) } : {}),
    ...(recipientLimit(ranges, fields) === undefined ? {} : onlyValid(home, fields)),
  };
}
