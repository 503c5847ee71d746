// Random requests, reproducible from a seed.
import * as fc from "fast-check";

/** Strings that JSON and UTF-8 can represent, without control characters. */
const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((value) => !/\p{Cc}|\p{Cs}/u.test(value));

/**
 * Valid disbursements, with a text to which the caller adds a fresh reference. Phone numbers have the recipient's last
 * three digits, since those force an outcome in a sandbox.
 */
export const validDisbursements = (recipient: string, maxAmount: number) =>
  fc.record({
    text,
    amount: fc.integer({ min: 1, max: maxAmount }),
    phoneNumber: fc.stringMatching(/^[1-9][0-9]{6,11}$/).map((digits) => digits + recipient.slice(-3)),
    country: fc.stringMatching(/^[A-Z]{2}$/),
    currency: fc.stringMatching(/^[A-Z]{3}$/),
  });

/** One of the fields, and an arbitrary value for it. */
export const anyValueFor = (fields: readonly string[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.integer()));

/** `count` values, the same for the same seed. There is no shrinking, since that would send more requests. */
export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed });
