import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type CounterConfiguration } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { FigureStore } from "../domain/figures.ts";
import type { HandoverFigures } from "../domain/handovers.ts";
import type { Backlog, Storage } from "../domain/storage.ts";
import type { AttemptEnded, Telemetry } from "../domain/telemetry.ts";
import { businessGauges, readBusiness } from "./business-metrics.ts";
import packageJson from "../package.json" with { type: "json" };

const { version } = packageJson;

/** How long the counts of waiting work are reused, and how long a scrape waits for new counts. */
const BACKLOG_MS = { fresh: 5_000, patience: 2_000 };
/** How often the delay of the event loop is sampled. The default, 10 ms, costs a process at rest twice as much. */
const LOOP_SAMPLE_EVERY_MS = 20;
/** The range is half a millisecond to ten seconds. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The range goes up to hours, because deliveries may wait for hours. */
const DELAYS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200];
/** The range goes up to days, because a rail may take days to end a payment. */
const TIMES_TO_FINAL = [...DELAYS, 28_800, 86_400, 259_200];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export interface Metrics {
  contentType: string;
  /** Returns all metrics as text. If the storage does not respond, the metrics of waiting work are left out. */
  render(): Promise<string>;
  /** Adds the metrics of the whole process: CPU, memory, event loop, garbage collection. Call it once per process. */
  watchProcess(): void;
}

export interface MetricsContext {
  telemetry: Pick<Telemetry, "on">;
  storage: Pick<Storage, "readBacklog" | "readHandoverFigures" | keyof FigureStore>;
  clock: Clock;
  /** The functions that give the metrics facts about the server. */
  config: {
    sandbox: boolean;
    database: { kind: string };
    role: string;
    rails?: { rails: readonly { name: string }[] };
  };
}

/**
 * Counts what the server reports (D60). Labels have few values: operations, statuses and results, never a merchant or a
 * merchant's text.
 */
export function createMetrics({ telemetry, storage, clock, config }: MetricsContext): Metrics {
  const registry = new Registry();
  countRequests(telemetry, registry);
  countWork(telemetry, registry);
  const backlog = backlogGauges(registry, clock);
  const business = businessGauges(registry, clock);
  const rails = config.sandbox ? undefined : watchRails(telemetry, registry, clock, config.rails?.rails ?? []);
  describeServer(config, registry);

  const readAll = async () => ({
    backlog: await storage.readBacklog(),
    business: await readBusiness(storage, clock),
    ...(rails && { figures: await storage.readHandoverFigures() }),
  });
  let read: { at: number; waiting: Promise<Partial<Awaited<ReturnType<typeof readAll>>>> } | undefined;
  /** Resolves with nothing if the storage fails, or does not respond in time. */
  function recentlyWaiting() {
    const now = clock.monotonic();
    if (!read || now - read.at >= BACKLOG_MS.fresh) {
      const timeout = new AbortController();
      const late = clock.sleep(BACKLOG_MS.patience, timeout.signal).then(() => ({}));
      const found = readAll().catch(() => ({}));
      read = { at: now, waiting: Promise.race([found, late]).finally(() => timeout.abort()) };
    }
    return read.waiting;
  }

  return {
    contentType: registry.contentType,
    async render() {
      const waiting = await recentlyWaiting();
      backlog(waiting.backlog);
      business(waiting.business);
      rails?.(waiting.figures);
      return registry.metrics();
    },
    watchProcess: () =>
      collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_EVERY_MS }),
  };
}

function describeServer({ sandbox, database, role }: MetricsContext["config"], registry: Registry): void {
  const labels = { version, environment: sandbox ? "sandbox" : "live", storage: database.kind, role };
  const help = "The server, as labels.";
  new Gauge({ name: "server_info", help, labelNames: Object.keys(labels), registers: [registry] }).set(labels, 1);
}

function countRequests({ on }: MetricsContext["telemetry"], registry: Registry): void {
  const registers = [registry];
  const requests = new Counter({
    name: "http_requests_total",
    help: "Requests by operation and status. The status is none if the connection ended before a response.",
    labelNames: ["operation", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time until the response was sent, by operation.",
    labelNames: ["operation"],
    buckets: DURATIONS,
    registers,
  });
  const logged = new Counter({
    name: "request_log_entries_total",
    help: "Requests that were stored in their log, or dropped because there were too many or storing them failed.",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["stored", "dropped"]) logged.inc({ result }, 0);
  on("requestLog", (counts) => {
    for (const [result, count] of Object.entries(counts)) logged.inc({ result }, count);
  });
  on("request", ({ operationId, route, status = "none", durationMs }) => {
    const operation = operationId ?? String(route);
    requests.inc({ operation, status });
    durations.observe({ operation }, durationMs / 1_000);
  });
}

/** The results of attempts. Another attempt follows only after `failed`. */
const RESULTS = { delivered: "delivered", pending: "failed", ended: "ended", exhausted: "exhausted" } as const;

function countWork({ on }: MetricsContext["telemetry"], registry: Registry): void {
  const registers = [registry];
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });
  const commitDurations = histogram("storage_commit_duration_seconds", "Time of a transaction.", DURATIONS);
  const commitItems = histogram("storage_commit_items", "Operations that shared a transaction.", ITEMS);
  const settlements = histogram(
    "settlement_delay_seconds",
    "Time from when a payment's final status was due until it was recorded.",
    DELAYS,
  );
  const attempts = new Counter({
    name: "webhook_attempts_total",
    help: "Attempts by result: delivered, failed (will be repeated), ended (410) or exhausted (was the last).",
    labelNames: ["result"],
    registers,
  } satisfies CounterConfiguration<"result">);
  const attemptDurations = histogram("webhook_attempt_duration_seconds", "Time of an attempt.", DURATIONS);
  const attemptDelays = histogram(
    "webhook_attempt_delay_seconds",
    "Time from when an attempt was due until it began.",
    DELAYS,
  );
  const storageUp = new Gauge({
    name: "storage_up",
    help: "1 while the storage works, else 0.",
    registers,
  });

  const clockAhead = new Gauge({
    name: "clock_ahead_seconds",
    help: "By how much the clock of the process is ahead of the database's, which the server uses; 0 if they agree within 5 s.",
    registers,
  });
  const clockSteps = new Counter({
    name: "clock_steps_total",
    help: "How often the server's time has jumped because its clock had.",
    registers,
  });

  // Start at 0: a counter that first appears with a failure would have no rate at that moment.
  for (const result of Object.values(RESULTS)) attempts.inc({ result }, 0);
  storageUp.set(1);

  on("commit", ({ items, durationMs }) => {
    commitDurations.observe(durationMs / 1_000);
    commitItems.observe(items);
  });
  on("settled", ({ delayMs }) => settlements.observe(delayMs / 1_000));
  on("attempt", ({ status, durationMs, delayMs }: AttemptEnded) => {
    attempts.inc({ result: RESULTS[status] });
    attemptDurations.observe(durationMs / 1_000);
    if (delayMs !== undefined) attemptDelays.observe(delayMs / 1_000);
  });
  on("clock", ({ aheadMs, steppedMs }) => {
    if (steppedMs === undefined) clockAhead.set(aheadMs / 1_000);
    else clockSteps.inc();
  });
  on("storage", ({ working }) => storageUp.set(working ? 1 : 0));
}

/**
 * Counts calls to rails and what they led to. Returns a function that sets the gauges of payments on rails, or removes
 * their values. The names of rails are few, and operators choose them.
 */
function watchRails(
  { on }: MetricsContext["telemetry"],
  registry: Registry,
  clock: Clock,
  configured: readonly { name: string }[],
): (figures: readonly HandoverFigures[] | undefined) => void {
  const registers = [registry];
  const labelNames = ["rail"];
  const calls = new Counter({
    name: "rail_calls_total",
    help: "Calls to rails by action and result. The result is unknown if the rail did not say what it did.",
    labelNames: ["rail", "action", "result"],
    registers,
  });
  const durations = new Histogram({
    name: "rail_call_duration_seconds",
    help: "Time of a call to a rail.",
    labelNames,
    buckets: [...DURATIONS, 30],
    registers,
  });
  const results = new Counter({
    name: "rail_results_total",
    help: "What calls to rails and their notifications led to: recorded, final, conflict or unknown-payment.",
    labelNames: ["rail", "result"],
    registers,
  });
  const timesToFinal = new Histogram({
    name: "rail_time_to_final_seconds",
    help: "Time from the creation of a payment until its rail has ended it.",
    labelNames,
    buckets: TIMES_TO_FINAL,
    registers,
  });
  for (const { name: rail } of configured) {
    for (const result of ["success", "unknown", "not-sent"]) calls.inc({ rail, action: "pay", result }, 0);
    for (const result of ["final", "conflict"]) results.inc({ rail, result }, 0);
    durations.zero({ rail });
    timesToFinal.zero({ rail });
  }
  on("railCall", ({ rail, action, result, durationMs }) => {
    calls.inc({ rail, action, result });
    durations.observe({ rail }, durationMs / 1_000);
  });
  on("railResult", ({ rail, result, ageMs }) => {
    results.inc({ rail, result });
    if (result === "final") timesToFinal.observe({ rail }, ageMs / 1_000);
  });

  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers });
  const since = (time: number | undefined) => (time === undefined ? 0 : Math.max(0, clock.now() - time) / 1_000);
  const gauges: [Gauge, (figures: HandoverFigures) => number][] = [
    [
      gauge("rail_payments_waiting", "Payments that are not given to the rail, or whose outcome is unknown."),
      ({ waiting }) => waiting,
    ],
    [gauge("rail_payments_accepted", "Payments that the rail has and has not ended."), ({ accepted }) => accepted],
    [gauge("rail_conflicts_open", "Payments whose rail contradicts their status."), ({ conflicts }) => conflicts],
    [
      gauge(
        "rail_oldest_unknown_seconds",
        "For how long the oldest unknown outcome has been unknown; 0 if no outcome is unknown.",
      ),
      ({ oldestUnknownSince }) => since(oldestUnknownSince),
    ],
  ];
  return (figures) => {
    for (const [each, value] of gauges) {
      each.reset();
      if (!figures) continue;
      for (const { name: rail } of configured) each.set({ rail }, 0);
      for (const found of figures) each.set({ rail: found.rail }, value(found));
    }
  };
}

/** Returns a function that sets the gauges of the waiting work, or removes their values. */
function backlogGauges(registry: Registry, clock: Clock): (backlog: Backlog | undefined) => void {
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const age = (since: number | undefined) => (since === undefined ? 0 : Math.max(0, clock.now() - since) / 1_000);
  const gauges: [Gauge, (backlog: Backlog) => number][] = [
    [
      gauge("webhook_deliveries_due", "Deliveries that are due, in all processes; 10000 if more."),
      ({ dueDeliveries }) => dueDeliveries,
    ],
    [
      gauge(
        "webhook_deliveries_waiting",
        "Deliveries between two attempts or in one, in all processes; 10000 if more.",
      ),
      ({ waitingDeliveries }) => waitingDeliveries,
    ],
    [
      gauge(
        "webhook_oldest_due_seconds",
        "For how long the oldest due delivery has been due; 0 if no delivery is due.",
      ),
      ({ oldestDeliveryDueAt }) => age(oldestDeliveryDueAt),
    ],
    [
      gauge("settlements_due", "Payments whose final status is due, in all processes; 10000 if more."),
      ({ dueSettlements }) => dueSettlements,
    ],
    [
      gauge(
        "settlement_oldest_due_seconds",
        "For how long the oldest due payment has been due; 0 if no payment is due.",
      ),
      ({ oldestSettlementDueAt }) => age(oldestSettlementDueAt),
    ],
  ];
  return (backlog) => {
    for (const [each, value] of gauges) {
      if (backlog) each.set(value(backlog));
      else each.remove();
    }
  };
}
