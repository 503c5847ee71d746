/** An attempt that takes longer than this shows that its lane is slow, in milliseconds. */
const SLOW_MS = 2_000;
/** How many lanes to remember. A forgotten lane counts as new. */
const MOST_LANES = 10_000;

export type Promptness = "new" | "prompt" | "slow";

interface Timed {
  /** A text that identifies the lane: its merchant and host. */
  keys: { lane: string };
  begunAt: number;
}

const isSlow = ({ begunAt }: Timed, now: number) => now - begunAt > SLOW_MS;

/**
 * Remembers how long the last attempt of each lane took. It judges lanes, and not hosts, so that a merchant cannot make
 * a shared host count as slow for other merchants.
 */
export function createPromptness() {
  const paces = new Map<string, Promptness>();
  return {
    of: (lane: string): Promptness => paces.get(lane) ?? "new",
    /** The lanes with an attempt in progress that is already slow. */
    slowLanes: (attempts: Iterable<Timed>, now: number): Set<string> =>
      new Set([...attempts].filter((each) => isSlow(each, now)).map(({ keys }) => keys.lane)),
    /** Records the end of an attempt. */
    note(attempt: Timed, now: number) {
      const { lane } = attempt.keys;
      // The entry is deleted and added again, so that the lanes are in the order of their last attempts.
      paces.delete(lane);
      paces.set(lane, isSlow(attempt, now) ? "slow" : "prompt");
      if (paces.size > MOST_LANES) paces.delete(paces.keys().next().value!);
    },
  };
}
