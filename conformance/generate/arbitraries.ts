// Generates random requests, which can be reproduced from a seed.
import * as fc from "fast-check";
import { commonPairs, dollars } from "../checks/countries.ts";

/** Strings without control characters and lone surrogates. UTF-8 cannot represent lone surrogates. */
const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((value) => !/\p{Cc}|\p{Cs}/u.test(value));

/**
 * Generates a recipient. It is either a common pair with a phone number of its country, or another country and currency
 * that match the contract's patterns. The phone number keeps the given recipient's last three digits, which may force
 * an outcome in a sandbox.
 */
const recipients = (recipient: string) => {
  const known = fc.constantFrom(...commonPairs).chain(({ country, currency, start }) =>
    fc.record({
      phoneNumber: fc.stringMatching(/^[0-9]{3}$/).map((digits) => start.slice(0, -3) + digits + recipient.slice(-3)),
      country: fc.constant(country),
      currency: fc.constant(currency),
    }),
  );
  const other = fc
    .record({
      phoneNumber: fc.stringMatching(/^[1-9][0-9]{6,11}$/).map((digits) => digits + recipient.slice(-3)),
      country: fc.stringMatching(/^[A-Z]{2}$/),
      currency: fc.stringMatching(/^[A-Z]{3}$/),
    })
    .filter(({ phoneNumber, country }) =>
      [...commonPairs, dollars].every((pair) => pair.country !== country && !phoneNumber.startsWith(pair.code)),
    );
  return fc.oneof(known, other);
};

/** Generates the fields of valid disbursements. Each has a `text` from which the caller makes a fresh reference. */
export const validDisbursements = (recipient: string, maxAmount: number) =>
  fc
    .record({ text, amount: fc.integer({ min: 1, max: maxAmount }), to: recipients(recipient) })
    .map(({ to, ...fields }) => ({ ...fields, ...to }));

/** Generates pairs of one of the fields and an arbitrary value for it. */
export const anyValueFor = (fields: readonly string[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.integer()));

/**
 * Returns `count` values, which are the same for the same seed. Values are never shrunk, because that would send more
 * requests.
 */
export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed });
