// Generates random requests, which can be reproduced from a seed.
import * as fc from "fast-check";

/** Generates pairs of one of the fields and an arbitrary value for it. */
export const anyValueFor = (fields: readonly string[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.integer()));

/**
 * Returns `count` values, which are the same for the same seed. Values are never shrunk, because that would send more
 * requests.
 */
export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed });
