// The capacity model of server/README.md: simulates a day, hour by hour, and finds the needs of its busiest hour.

/** A deployment's load. Every day is the same. */
export interface Load {
  payoutsPerDay: number;
  verifiesPerPayout: number;
  webhooksPerPayout: number;
  /** The share of webhooks whose receiver fails every attempt, so that all retries are made (D13). */
  failing: number;
  /** The busiest hour as a multiple of the average hour. */
  peak: number;
  /** After how many days events are pruned. */
  retentionDays: number;
  /** How long receivers take to respond, in milliseconds. */
  receiverMs: number;
}

/** What each step costs, measured by `scripts/bench/costs.ts`. */
export interface Cost {
  serverUs: number;
  databaseUs: number;
  walBytes: number;
  storedBytes: number;
  commits: number;
}
export type Costs = Record<"create" | "verify" | "webhook", Cost>;

/** Measured on PostgreSQL 18, two cores, on 2026-11-27, beside another program. */
export const MEASURED: Costs = {
  create: { serverUs: 218, databaseUs: 100, walBytes: 1_658, storedBytes: 893, commits: 0.15 },
  verify: { serverUs: 147, databaseUs: 23, walBytes: 0, storedBytes: 0, commits: 0.09 },
  webhook: { serverUs: 344, databaseUs: 333, walBytes: 5_577, storedBytes: 3_758, commits: 0.24 },
};

/** The share of a core that may be in use at the busiest time, and the connections of a process. */
const UTILISATION = 0.6;
const CONNECTIONS = 10;
/** The pauses between the attempts of a webhook, in seconds (D13). */
const PAUSES = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/** Hours from the first attempt to each retry. */
const RETRIES = PAUSES.map((_, index) => PAUSES.slice(0, index + 1).reduce((a, b) => a + b) / 3_600);

/** A day's shape: the higher the exponent, the steeper the wave. No hour is negative. */
const wave = (exponent: number) =>
  Array.from({ length: 24 }, (_, hour) => ((1 + Math.cos(((hour - 12) / 12) * Math.PI)) / 2) ** exponent);
const peakOf = (shape: number[]) => (Math.max(...shape) * 24) / shape.reduce((a, b) => a + b);

/** The payouts of each hour: a wave whose highest hour is `peak` times the average. */
export function payoutsByHour({ payoutsPerDay, peak }: Pick<Load, "payoutsPerDay" | "peak">): number[] {
  let [low, high] = [0, 1_000];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (peakOf(wave(middle)) < peak) low = middle;
    else high = middle;
  }
  const shape = wave(low);
  const sum = shape.reduce((a, b) => a + b);
  return shape.map((share) => (payoutsPerDay * share) / sum);
}

/** The attempts of each hour: one for each webhook, and the retries of webhooks that failed in earlier hours. */
export function attemptsByHour(load: Load): number[] {
  const first = payoutsByHour(load).map((payouts) => payouts * load.webhooksPerPayout);
  const before = (hour: number, hours: number) => first[(((hour - Math.floor(hours)) % 24) + 24) % 24]!;
  return first.map(
    (count, hour) => count + load.failing * RETRIES.reduce((sum, hours) => sum + before(hour, hours), 0),
  );
}

/** The needs of the busiest hour of a day, and the data that a day leaves behind. */
export function simulate(load: Load, { create, verify, webhook }: Costs = MEASURED) {
  const [payouts, attempts] = [payoutsByHour(load), attemptsByHour(load)];
  /** Sums a cost over the steps of an hour, per second. */
  const perSecond = (hour: number, figure: keyof Cost) =>
    (payouts[hour]! * (create[figure] + load.verifiesPerPayout * verify[figure]) + attempts[hour]! * webhook[figure]) /
    3_600;
  const most = (figure: keyof Cost) => Math.max(...payouts.map((_, hour) => perSecond(hour, figure)));
  const processes = Math.max(1, Math.ceil(most("serverUs") / 1e6 / UTILISATION));
  const attemptsPerDay = attempts.reduce((a, b) => a + b);
  const [payoutBytes, eventBytes] = [load.payoutsPerDay * create.storedBytes, attemptsPerDay * webhook.storedBytes];
  return {
    "requests per second": (Math.max(...payouts) * (1 + load.verifiesPerPayout)) / 3_600,
    "webhook attempts per second": Math.max(...attempts) / 3_600,
    "webhook connections": (Math.max(...attempts) / 3_600) * (load.receiverMs / 1_000),
    "server cores (a process each)": processes,
    "database cores": Math.ceil(most("databaseUs") / 1e6 / UTILISATION),
    "database connections": processes * CONNECTIONS,
    "commits per second": most("commits"),
    "WAL, MB per second": most("walBytes") / 1e6,
    "GB per day": (payoutBytes + eventBytes) / 1e9,
    "TB after a year": (365 * payoutBytes + Math.min(365, load.retentionDays) * eventBytes) / 1e12,
  };
}
