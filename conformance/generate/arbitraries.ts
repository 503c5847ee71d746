// Random requests, the same for the same seed.
import * as fc from "fast-check";

/** Text that JSON and UTF-8 can carry, without control characters. */
const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((value) => !/\p{Cc}|\p{Cs}/u.test(value));

/**
 * Sound disbursements. References end with the one of the run, so that nobody has used them; phone numbers end like the
 * recipient's, since the last three digits force an outcome in a sandbox.
 */
export const soundDisbursements = (recipient: string, maxAmount: number) =>
  fc.record({
    text,
    amount: fc.integer({ min: 1, max: maxAmount }),
    phoneNumber: fc.stringMatching(/^[1-9][0-9]{6,11}$/).map((digits) => digits + recipient.slice(-3)),
    country: fc.stringMatching(/^[A-Z]{2}$/),
    currency: fc.stringMatching(/^[A-Z]{3}$/),
  });

/** A field and any JSON value for it. */
export const anyValueFor = (fields: readonly string[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.integer()));

/** So many values, the same for the same seed. Nothing is shrunk: that would send more requests. */
export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed });
