import type { Payments } from "./payments.ts";
import type { Outage } from "./outages.ts";

const SAMPLE_EVERY_MS = 250;
/** After an outage the service must be as fast as before it, from this time on and for this time, in milliseconds. */
const RECOVERY_MS = 5_000;
const JUDGED_MS = 5_000;
/** The share of the earlier speed that counts as full, because the load is random. */
const FULL = 0.8;

interface Sample {
  at: number;
  acknowledged: number;
}

export interface Speed {
  /** Ends the measurement. Returns what was found wrong, and the numbers for people. */
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
      const before = between(0, outages[0]?.from ?? samples.at(-1)!.at) ?? 0;
      const wrong: string[] = [];
      const after: string[] = [];
      for (const { kind, to } of outages) {
        const found = between(to + RECOVERY_MS, to + RECOVERY_MS + JUDGED_MS);
        if (found === undefined) continue;
        after.push(found.toFixed(0));
        if (found < FULL * before)
          wrong.push(
            `${found.toFixed(0)} payments/s ${RECOVERY_MS / 1_000} s after a ${kind}, ${before.toFixed(0)} before`,
          );
      }
      return {
        wrong,
        numbers: `${before.toFixed(0)} payments/s before outages, ${after.join(", ") || "not judged"} after`,
      };
    },
  };
}
