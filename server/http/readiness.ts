import type { Clock } from "../domain/clock.ts";

/** How long a result is kept, in milliseconds of real time. */
const KEPT_MS = 1_000;

/**
 * Returns a function that calls `probe` and keeps its result, also a failure, for a second. Calls during a probe share
 * the probe. Anyone may request /readyz, and each probe costs the database a commit.
 */
export function keptProbe(probe: () => Promise<void>, clock: Pick<Clock, "monotonic">): () => Promise<void> {
  let last: { result: Promise<void>; endedAt?: number } | undefined;
  const isKept = ({ endedAt }: NonNullable<typeof last>) =>
    endedAt === undefined || clock.monotonic() - endedAt < KEPT_MS;

  function begin() {
    const begun: NonNullable<typeof last> = { result: probe() };
    const end = () => void (begun.endedAt = clock.monotonic());
    begun.result.then(end, end);
    return begun;
  }

  return () => {
    if (!last || !isKept(last)) last = begin();
    return last.result;
  };
}
