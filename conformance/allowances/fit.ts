// Keeps the values of requests inside the limits of the target.
import type { Declaration } from "./declaration.ts";
import { exceeded } from "./table.ts";
import { madeOf, type Fields } from "./search.ts";

/**
 * Replaces the characters that a reference may not contain, and keeps the end of the reference, which makes it unique.
 * A letter that is not allowed is replaced by the letter in the other case; any other character is removed.
 */
export function fittedReference(
  { longestReference, longestReferenceBytes, referenceCharacters, referenceEnds }: Declaration,
  reference: string,
): string {
  const isAllowed = madeOf(referenceCharacters);
  const kept = [...reference].map((each) => [each, each.toUpperCase(), each.toLowerCase(), ""].find(isAllowed)!);
  let text = (longestReference === undefined ? kept : kept.slice(-longestReference)).join("");
  while (Buffer.byteLength(text) > (longestReferenceBytes ?? Infinity)) text = [...text].slice(1).join("");
  if (referenceEnds === undefined) return text;
  const others = `[^${referenceEnds}]+`;
  return text.replace(new RegExp(`^${others}|${others}$`, "gu"), "");
}

/** Returns the amount or, if it is valid but outside the limits, the nearest amount inside them. */
function fittedAmount(limits: Declaration, { amount, currency, ...fields }: Fields): unknown {
  const { smallestAmount = 1, largestAmount, largestCheckout, largestByCurrency } = limits;
  const isCheckout = !("phoneNumber" in fields) && !("reference" in fields);
  const most = Math.min(
    ...[largestAmount, isCheckout ? largestCheckout : undefined, largestByCurrency?.[String(currency)]].map(
      (limit) => limit ?? Infinity,
    ),
  );
  return exceeded({ smallestAmount, largestAmount: most }, { amount }) === undefined
    ? amount
    : Math.min(most, Math.max(smallestAmount, Number(amount)));
}

const patterns: Record<string, RegExp> = {
  phoneNumber: /^[0-9]{10,15}$/,
  country: /^[A-Z]{2}$/,
  currency: /^[A-Z]{3}$/,
};
const isValid = (name: string, value: unknown) => typeof value === "string" && (patterns[name]?.test(value) ?? false);

const homeWhereValid = (home: Fields, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(home).filter(([name]) => isValid(name, fields[name])));

/**
 * Returns a disbursement whose values are inside the limits. Invalid values stay, because a check sends them on
 * purpose.
 * @param home the country, currency and phone number to use if the target does not serve the disbursement's
 * @param own phone numbers that the caller gave, which always stay
 */
export function fitted(limits: Declaration, fields: Fields, home: Fields, own: readonly unknown[] = []): Fields {
  const { reference, country, currency, phoneNumber } = fields;
  const payee = { country, currency, ...(own.includes(phoneNumber) ? {} : { phoneNumber }) };
  const placed = { ...fields, ...(exceeded(limits, payee) === undefined ? {} : homeWhereValid(home, fields)) };
  return {
    ...placed,
    ...(typeof reference === "string" ? { reference: fittedReference(limits, reference) } : {}),
    ...("amount" in fields ? { amount: fittedAmount(limits, placed) } : {}),
  };
}
