/** Pseudo-random numbers that are the same in every run with the same seed. */
export interface SeededRandom {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** An integer from 0 (inclusive) to `limit` (exclusive). */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
  bytes(length: number): Uint8Array;
}

/** The mulberry32 generator: small, but not suitable for secrets. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: (values) => values[below(values.length)]!,
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
  };
}
