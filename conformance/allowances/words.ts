// Describes limits for people.
import type { Declaration, Velocity } from "./declaration.ts";

const rule = ({ payouts, seconds, per }: Velocity) => `at most ${payouts} payouts per ${per} in ${seconds} s`;

const phrases: { [Field in keyof Declaration]-?: (value: NonNullable<Declaration[Field]>) => string } = {
  largestAmount: (amount) => `amounts up to ${amount}`,
  smallestAmount: (amount) => `amounts from ${amount}`,
  longestReference: (length) => `references of at most ${length} characters`,
  referenceCharacters: (characters) => `references made of ${characters}`,
  countries: (codes) => `countries: ${codes.join(", ")}`,
  currencies: (codes) => `currencies: ${codes.join(", ")}`,
  numberRanges: (ranges) => `phone numbers: ${ranges.map((range) => range.replace(/[0-9]$/, "$&…")).join(", ")}`,
  httpsWebhooks: (only) => (only ? "webhooks only to https addresses" : "webhooks to http addresses too"),
  velocity: (rules) => rules.map(rule).join(", "),
  readAfterWriteMs: (ms) => `a new disbursement can be verified after at most ${ms} ms`,
  settlementSeconds: (seconds) => `a disbursement is final after at most ${seconds} s`,
};

/** Returns one phrase for each limit, in the order of the schema. */
export const limitPhrases = (declaration: Declaration = {}): string[] =>
  Object.entries(phrases).flatMap(([field, phrase]) => {
    const value = declaration[field as keyof Declaration];
    return value === undefined ? [] : [(phrase as (value: unknown) => string)(value)];
  });
