// Generates random requests, which can be reproduced from a seed.
import * as fc from "fast-check";
import { commonPairs, dollars, otherPairs, payeeIn, type Pair, type Payee } from "./countries.ts";
import { createRandom } from "./random.ts";

/** Strings without control characters and lone surrogates. UTF-8 cannot represent lone surrogates. */
const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((value) => !/\p{Cc}|\p{Cs}/u.test(value));

/** Generates payees with made-up mobile numbers of these countries. */
const payees = (pairs: readonly Pair[], recipient: string): fc.Arbitrary<Payee> =>
  fc
    .tuple(fc.constantFrom(...pairs), fc.nat())
    .map(([pair, seed]) => payeeIn(pair, recipient, createRandom(seed, "payee")));

/** Generates the fields of valid disbursements. Each has a `text` from which the caller makes a fresh reference. */
export const validDisbursements = (recipient: string, maxAmount: number) =>
  fc
    .record({
      text,
      amount: fc.integer({ min: 1, max: maxAmount }),
      to: fc.oneof(payees(commonPairs, recipient), payees([dollars, ...otherPairs], recipient)),
    })
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
