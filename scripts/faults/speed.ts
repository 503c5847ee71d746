import type { Payments } from "./payments.ts";
import type { Outage } from "./outages.ts";

const SAMPLE_EVERY_MS = 250;
/**
 * How long the service may be slow after an outage. After this time its speed is judged for `JUDGED_MS`, which is long
 * enough that 0.8 of the usual number of payments is hardly ever found by chance. Both are in milliseconds.
 */
const RECOVERY_MS = 5_000;
const JUDGED_MS = 10_000;
/** The speed is judged until this long after an outage, in milliseconds. */
export const JUDGED_AFTER_MS = RECOVERY_MS + JUDGED_MS;
/**
 * The share of the earlier speed that counts as full, because load and kills are random. The speed of the slowest part
 * of `JUDGED_MS` before the outages counts as full too.
 */
const FULL = 0.8;

interface Sample {
  at: number;
  acknowledged: number;
}

export interface Speed {
  /** Ends the measurement. Returns the violations, and the numbers for people. */
  judge(outages: readonly Outage[]): { wrong: string[]; numbers: string };
}

/** Measures how many payments are acknowledged in each part of a run. */
export function watchSpeed(payments: Payments): Speed {
  const samples: Sample[] = [];
  const sample = () => samples.push({ at: performance.now(), acknowledged: payments.acknowledged() });
  sample();
  const timer = setInterval(sample, SAMPLE_EVERY_MS);

  /** Payments per second between two times; undefined if the measurement does not cover them. */
  function between(from: number, to: number): number | undefined {
    const [first, last] = [samples.find(({ at }) => at >= from), samples.find(({ at }) => at >= to)];
    return first && last && ((last.acknowledged - first.acknowledged) * 1_000) / (last.at - first.at);
  }

  return {
    judge(outages) {
      clearInterval(timer);
      const [begun, end] = [samples[0]!.at, outages[0]?.from ?? samples.at(-1)!.at];
      const before = between(begun, end) ?? 0;
      const parts: number[] = [];
      // The first part is left out, because the processes have just started.
      for (let at = begun + JUDGED_MS; at + JUDGED_MS <= end; at += JUDGED_MS) parts.push(between(at, at + JUDGED_MS)!);
      const least = Math.min(FULL * before, ...parts);
      const wrong: string[] = [];
      const after: string[] = [];
      for (const { kind, to } of outages) {
        const found = between(to + RECOVERY_MS, to + JUDGED_AFTER_MS);
        if (found === undefined) continue;
        after.push(found.toFixed(0));
        if (found >= least) continue;
        wrong.push(
          `${found.toFixed(0)} payments/s ${RECOVERY_MS / 1_000} s after a ${kind}, at least ${least.toFixed(0)} before`,
        );
      }
      return {
        wrong,
        numbers: `${before.toFixed(0)} payments/s before outages, ${least.toFixed(0)} are full, ${after.join(", ") || "none judged"} after`,
      };
    },
  };
}
