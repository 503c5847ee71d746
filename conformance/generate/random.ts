// Pseudo-random numbers that a run's seed determines.
import { createHash } from "node:crypto";

/** Returns a pseudo-random whole number from `least` to `most`, both included. */
export type Random = (least: number, most: number) => number;

/**
 * Returns a generator of the sequence that belongs to a seed and a name. A check passes its own name, so that its
 * requests are the same whichever other checks run.
 */
export function createRandom(seed: number, name: string): Random {
  let count = 0;
  return (least, most) => {
    const hash = createHash("sha256")
      .update(`${seed} ${(count += 1)} ${name}`)
      .digest();
    return least + (hash.readUIntBE(0, 6) % (most - least + 1));
  };
}

export const pick = <T>(random: Random, values: readonly [T, ...T[]]): T =>
  values[random(0, values.length - 1)] ?? values[0];

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random(0, 2 ** 32) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
