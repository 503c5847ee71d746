import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { within, type Clock } from "../domain/clock.ts";
import type { HandoverFigures } from "../domain/handovers.ts";
import type { Storage } from "../domain/storage.ts";
import type { Telemetry } from "../domain/telemetry.ts";
import packageJson from "../package.json" with { type: "json" };

/** How long a scrape waits for the storage. */
const PATIENCE_MS = 2_000;
/** How often the delay of the event loop is sampled. The default, 10 ms, costs a process at rest twice as much. */
const LOOP_SAMPLE_EVERY_MS = 20;
/** The range is half a millisecond to ten seconds. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The range goes up to hours, because deliveries may wait for hours. */
const DELAYS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200];
/** The range goes up to days, because a rail may take days to end a payment. */
const TO_FINAL = [...DELAYS, 28_800, 86_400, 259_200];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const MOST_RECEIVERS = 100;
/** The results of attempts. Another attempt follows only after `failed`. */
const RESULTS = { delivered: "delivered", pending: "failed", ended: "ended", exhausted: "exhausted" } as const;

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricsContext {
  telemetry: Pick<Telemetry, "on">;
  storage: Storage;
  clock: Clock;
  config: {
    sandbox: boolean;
    database: { kind: string };
    role: string;
    rails?: { rails: readonly { name: string }[] };
  };
}

/** What a metric tells, its labels, and the buckets of a histogram. */
export type Described = readonly [help: string, labels?: string, buckets?: readonly number[]];

/** What this process counts. Counters end in `_total`, histograms have buckets, and all others are gauges. */
export const COUNTED = {
  server_info: ["The server, as labels.", "version environment storage role"],
  http_requests_total: [
    "Requests by operation and status. The status is none if the connection ended before a response.",
    "operation status",
  ],
  http_request_duration_seconds: ["Time until the response was sent, by operation.", "operation", DURATIONS],
  request_log_entries_total: [
    "Requests that were stored in their log, or dropped because there were too many or storing them failed.",
    "result",
  ],
  storage_up: ["1 while the storage works, else 0."],
  storage_commit_duration_seconds: ["Time of a transaction.", "", DURATIONS],
  storage_commit_items: ["Operations that shared a transaction.", "", ITEMS],
  clock_ahead_seconds: [
    "By how much the clock of the process is ahead of the database's, which the server uses; 0 if they agree within 5 s.",
  ],
  clock_steps_total: ["How often the server's time has jumped because its clock had."],
  settlement_delay_seconds: ["Time from when a payment's final status was due until it was recorded.", "", DELAYS],
  webhook_attempts_total: [
    "Attempts by result: delivered, failed (will be repeated), ended (410) or exhausted (was the last).",
    "result",
  ],
  webhook_attempt_duration_seconds: ["Time of an attempt.", "", DURATIONS],
  webhook_attempt_delay_seconds: ["Time from when an attempt was due until it began.", "", DELAYS],
  rail_calls_total: [
    "Calls to rails by action and result. The result is unknown if the rail did not say what it did.",
    "rail action result",
  ],
  rail_call_duration_seconds: ["Time of a call to a rail.", "rail", [...DURATIONS, 30]],
  rail_results_total: [
    "What calls to rails and their notifications led to: recorded, final, conflict or unknown-payment.",
    "rail result",
  ],
  rail_time_to_final_seconds: ["Time from the creation of a payment until its rail has ended it.", "rail", TO_FINAL],
} satisfies Record<string, Described>;

/** Work that all processes share. It is read from the storage for each scrape. */
export const SHARED = {
  settlements_due: ["Payments whose final status is due, in all processes; 10000 if more."],
  settlement_oldest_due_seconds: ["For how long the oldest due payment has been due; 0 if no payment is due."],
  payouts_oldest_pending_seconds: [
    "The age of the oldest payout that is pending and waits for no approval; 0 if there is none.",
  ],
  webhook_deliveries_due: ["Deliveries that are due, in all processes; 10000 if more."],
  webhook_deliveries_waiting: ["Deliveries between two attempts or in one, in all processes; 10000 if more."],
  webhook_oldest_due_seconds: ["For how long the oldest due delivery has been due; 0 if no delivery is due."],
  webhook_receivers_failing: [
    `Receivers whose webhooks wait for a retry, of all merchants; at most ${MOST_RECEIVERS}.`,
  ],
  rail_payments_waiting: ["Payments that are not given to the rail, or whose outcome is unknown.", "rail"],
  rail_payments_accepted: ["Payments that the rail has and has not ended.", "rail"],
  rail_conflicts_open: ["Payments whose rail contradicts their status.", "rail"],
  rail_oldest_unknown_seconds: [
    "For how long the oldest unknown outcome has been unknown; 0 if no outcome is unknown.",
    "rail",
  ],
} satisfies Record<string, Described>;

/** Makes the metrics of a table. Returns what adds a value to a counter or histogram, or sets a gauge. */
export function makeMetrics<Name extends string>(registry: Registry, table: Readonly<Record<Name, Described>>) {
  const made = Object.entries<Described>(table).map(([name, [help, labels, buckets]]) => {
    const about = { name, help, labelNames: labels?.split(" ").filter(Boolean) ?? [], registers: [registry] };
    if (buckets) return [name, new Histogram({ ...about, buckets: [...buckets] })] as const;
    return [name, name.endsWith("_total") ? new Counter(about) : new Gauge(about)] as const;
  });
  const metrics = new Map<string, Histogram | Counter | Gauge>(made);
  return (name: Name, value: number, labels: Readonly<Record<string, string | number>> = {}): void => {
    const metric = metrics.get(name)!;
    if (metric instanceof Histogram) metric.observe(labels, value);
    else if (metric instanceof Counter) metric.inc(labels, value);
    else metric.set(labels, value);
  };
}

/**
 * Counts what the server reports (D60). Labels have few values: operations, statuses and results, never a merchant or a
 * merchant's text. The names of rails are few, and operators choose them.
 */
export function createMetrics({ telemetry: { on }, storage, clock, config }: MetricsContext) {
  const registry = new Registry();
  const record = makeMetrics(registry, COUNTED);
  const rails = config.sandbox ? [] : (config.rails?.rails.map(({ name }) => name) ?? []);

  // Start at 0: a counter that first appears with a failure would have no rate at that moment.
  for (const result of ["stored", "dropped"]) record("request_log_entries_total", 0, { result });
  for (const result of Object.values(RESULTS)) record("webhook_attempts_total", 0, { result });
  for (const rail of rails) {
    for (const result of ["success", "unknown", "not-sent"])
      record("rail_calls_total", 0, { rail, action: "pay", result });
    for (const result of ["final", "conflict"]) record("rail_results_total", 0, { rail, result });
  }
  record("storage_up", 1);
  record("server_info", 1, {
    version: packageJson.version,
    environment: config.sandbox ? "sandbox" : "live",
    storage: config.database.kind,
    role: config.role,
  });

  on("request", ({ route, operation = route, status = "none", durationMs }) => {
    record("http_requests_total", 1, { operation, status });
    record("http_request_duration_seconds", durationMs / 1_000, { operation });
  });
  on("requestLog", (counts) => {
    for (const [result, count] of Object.entries(counts)) record("request_log_entries_total", count, { result });
  });
  on("commit", ({ items, durationMs }) => {
    record("storage_commit_duration_seconds", durationMs / 1_000);
    record("storage_commit_items", items);
  });
  on("settled", ({ delayMs }) => record("settlement_delay_seconds", delayMs / 1_000));
  on("attempt", ({ status, durationMs, delayMs }) => {
    record("webhook_attempts_total", 1, { result: RESULTS[status] });
    record("webhook_attempt_duration_seconds", durationMs / 1_000);
    if (delayMs !== undefined) record("webhook_attempt_delay_seconds", delayMs / 1_000);
  });
  on("clock", ({ aheadMs, steppedMs }) => {
    if (steppedMs === undefined) record("clock_ahead_seconds", aheadMs / 1_000);
    else record("clock_steps_total", 1);
  });
  on("storage", ({ working }) => record("storage_up", working ? 1 : 0));
  on("railCall", ({ rail, action, result, durationMs }) => {
    record("rail_calls_total", 1, { rail, action, result });
    record("rail_call_duration_seconds", durationMs / 1_000, { rail });
  });
  on("railResult", ({ rail, result, ageMs }) => {
    record("rail_results_total", 1, { rail, result });
    if (result === "final") record("rail_time_to_final_seconds", ageMs / 1_000, { rail });
  });

  /** Reads the waiting work. @returns its metrics as text */
  async function readShared(): Promise<string> {
    const backlog = await storage.readBacklog();
    const [[oldest], receivers] = await Promise.all([
      storage.listLate({ before: clock.now(), limit: 1 }),
      storage.listFailingReceivers({ limit: MOST_RECEIVERS }),
    ]);
    const figures = config.sandbox ? [] : await storage.readHandoverFigures();
    const shared = new Registry();
    const set = makeMetrics(shared, SHARED);
    const age = (since: number | undefined) => (since === undefined ? 0 : Math.max(0, clock.now() - since) / 1_000);
    set("webhook_deliveries_due", backlog.dueDeliveries);
    set("webhook_deliveries_waiting", backlog.waitingDeliveries);
    set("webhook_oldest_due_seconds", age(backlog.oldestDeliveryDueAt));
    set("webhook_receivers_failing", receivers.length);
    set("settlements_due", backlog.dueSettlements);
    set("settlement_oldest_due_seconds", age(backlog.oldestSettlementDueAt));
    set("payouts_oldest_pending_seconds", age(oldest?.since));
    const none: HandoverFigures[] = rails.map((rail) => ({ rail, waiting: 0, accepted: 0, conflicts: 0 }));
    for (const { rail, ...figure } of [...none, ...figures]) {
      set("rail_payments_waiting", figure.waiting, { rail });
      set("rail_payments_accepted", figure.accepted, { rail });
      set("rail_conflicts_open", figure.conflicts, { rail });
      set("rail_oldest_unknown_seconds", age(figure.oldestUnknownSince), { rail });
    }
    return shared.metrics();
  }
  return {
    contentType: registry.contentType,
    /** Returns what this process has counted, as text. */
    render: () => registry.metrics(),
    /** Returns the work that all processes share, as text; nothing if the storage fails or does not respond in time. */
    async renderShared() {
      const text = readShared().catch(() => undefined);
      return (await within(clock, PATIENCE_MS, text)) ?? "";
    },
    /** Adds the metrics of the whole process: CPU, memory, event loop, garbage collection. Call it once per process. */
    watchProcess: () =>
      collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_EVERY_MS }),
  };
}
