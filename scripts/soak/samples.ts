import { quantile } from "../bench/load.ts";

export interface Sample {
  /** Seconds since the start. */
  at: number;
  megabytes: number;
}

/** The growth of memory in MB per minute: the slope of the line that fits these samples best. */
export function growth(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const [at, megabytes] = [mean((one) => one.at), mean((one) => one.megabytes)];
  const above = samples.reduce((sum, one) => sum + (one.at - at) * (one.megabytes - megabytes), 0);
  return (60 * above) / samples.reduce((sum, one) => sum + (one.at - at) ** 2, 0);
}

const p99 = (latencies: readonly number[]) =>
  quantile(
    latencies.toSorted((a, b) => a - b),
    0.99,
  );

/** The 99th percentiles of the first and the last third of latencies, which are in the order of their requests. */
export function thirds(latencies: readonly number[]): { first: number; last: number } {
  const third = Math.floor(latencies.length / 3);
  return { first: p99(latencies.slice(0, third)), last: p99(latencies.slice(-third)) };
}
