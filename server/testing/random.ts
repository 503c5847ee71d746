export type SeededRandom = ReturnType<typeof seededRandom>;

/**
 * Pseudo-random numbers that are the same in every run with the same seed, by the mulberry32 generator: small, but not
 * suitable for secrets.
 */
export function seededRandom(seed: number) {
  let state = seed >>> 0;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** An integer from 0 (inclusive) to `limit` (exclusive). */
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <T>(values: readonly T[]): T => values[below(values.length)]!,
    bytes: (length: number) => Uint8Array.from({ length }, () => below(256)),
  };
}
