import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { FigureStore } from "../domain/figures.ts";
import type { HandoverFigures } from "../domain/handovers.ts";
import type { Backlog, Storage } from "../domain/storage.ts";
import type { Telemetry } from "../domain/telemetry.ts";
import packageJson from "../package.json" with { type: "json" };

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
const MOST_RECEIVERS = 100;
/** The results of attempts. Another attempt follows only after `failed`. */
const RESULTS = { delivered: "delivered", pending: "failed", ended: "ended", exhausted: "exhausted" } as const;

export interface Metrics {
  contentType: string;
  /** Returns all metrics as text. If the storage does not respond, the metrics of waiting work are left out. */
  render(): Promise<string>;
  /** Adds the metrics of the whole process: CPU, memory, event loop, garbage collection. Call it once per process. */
  watchProcess(): void;
}

interface MetricsContext {
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

/** What each metric tells. */
const HELP = {
  server_info: "The server, as labels.",
  http_requests_total:
    "Requests by operation and status. The status is none if the connection ended before a response.",
  http_request_duration_seconds: "Time until the response was sent, by operation.",
  request_log_entries_total:
    "Requests that were stored in their log, or dropped because there were too many or storing them failed.",
  storage_up: "1 while the storage works, else 0.",
  storage_commit_duration_seconds: "Time of a transaction.",
  storage_commit_items: "Operations that shared a transaction.",
  clock_ahead_seconds:
    "By how much the clock of the process is ahead of the database's, which the server uses; 0 if they agree within 5 s.",
  clock_steps_total: "How often the server's time has jumped because its clock had.",
  settlement_delay_seconds: "Time from when a payment's final status was due until it was recorded.",
  settlements_due: "Payments whose final status is due, in all processes; 10000 if more.",
  settlement_oldest_due_seconds: "For how long the oldest due payment has been due; 0 if no payment is due.",
  payouts_oldest_pending_seconds:
    "The age of the oldest payout that is pending and waits for no approval; 0 if there is none.",
  webhook_attempts_total:
    "Attempts by result: delivered, failed (will be repeated), ended (410) or exhausted (was the last).",
  webhook_attempt_duration_seconds: "Time of an attempt.",
  webhook_attempt_delay_seconds: "Time from when an attempt was due until it began.",
  webhook_deliveries_due: "Deliveries that are due, in all processes; 10000 if more.",
  webhook_deliveries_waiting: "Deliveries between two attempts or in one, in all processes; 10000 if more.",
  webhook_oldest_due_seconds: "For how long the oldest due delivery has been due; 0 if no delivery is due.",
  webhook_receivers_failing: `Receivers whose webhooks wait for a retry, of all merchants; at most ${MOST_RECEIVERS}.`,
  rail_calls_total: "Calls to rails by action and result. The result is unknown if the rail did not say what it did.",
  rail_call_duration_seconds: "Time of a call to a rail.",
  rail_results_total:
    "What calls to rails and their notifications led to: recorded, final, conflict or unknown-payment.",
  rail_time_to_final_seconds: "Time from the creation of a payment until its rail has ended it.",
  rail_payments_waiting: "Payments that are not given to the rail, or whose outcome is unknown.",
  rail_payments_accepted: "Payments that the rail has and has not ended.",
  rail_conflicts_open: "Payments whose rail contradicts their status.",
  rail_oldest_unknown_seconds: "For how long the oldest unknown outcome has been unknown; 0 if no outcome is unknown.",
};
type Name = keyof typeof HELP;

/** Makes metrics by name. */
function makers(registry: Registry) {
  const about = (name: Name, labelNames: string[]) => ({ name, help: HELP[name], labelNames, registers: [registry] });
  return {
    counter: (name: Name, ...labelNames: string[]) => new Counter(about(name, labelNames)),
    gauge: (name: Name, ...labelNames: string[]) => new Gauge(about(name, labelNames)),
    histogram: (name: Name, buckets: number[], ...labelNames: string[]) =>
      new Histogram({ ...about(name, labelNames), buckets }),
  };
}
type Makers = ReturnType<typeof makers>;

/** What is read when the metrics are asked for. */
interface Waiting {
  backlog: Backlog;
  /** When the oldest pending payout was created; absent if there is none. */
  oldestPending: number | undefined;
  failingReceivers: number;
  /** Of a live server's rails. */
  figures?: readonly HandoverFigures[];
}

/**
 * Counts what the server reports (D60). Labels have few values: operations, statuses and results, never a merchant or a
 * merchant's text.
 */
export function createMetrics({ telemetry, storage, clock, config }: MetricsContext): Metrics {
  const registry = new Registry();
  const make = makers(registry);
  const labels = {
    version: packageJson.version,
    environment: config.sandbox ? "sandbox" : "live",
    storage: config.database.kind,
    role: config.role,
  };
  make.gauge("server_info", ...Object.keys(labels)).set(labels, 1);
  countRequests(telemetry, make);
  countWork(telemetry, make);
  const age = (since: number | undefined) => (since === undefined ? 0 : Math.max(0, clock.now() - since) / 1_000);
  const setWaiting = waitingGauges(make, age);
  const names = config.rails?.rails.map(({ name }) => name) ?? [];
  const setRails = config.sandbox ? undefined : watchRails(telemetry, make, age, names);

  async function readWaiting(): Promise<Waiting> {
    const backlog = await storage.readBacklog();
    const [[oldest], receivers] = await Promise.all([
      storage.listLate({ before: clock.now(), limit: 1 }),
      storage.listFailingReceivers({ limit: MOST_RECEIVERS }),
    ]);
    const figures = setRails && (await storage.readHandoverFigures());
    return { backlog, oldestPending: oldest?.since, failingReceivers: receivers.length, ...(figures && { figures }) };
  }
  let read: { at: number; waiting: Promise<Waiting | undefined> } | undefined;
  /** Resolves with nothing if the storage fails, or does not respond in time. */
  function recentlyWaiting() {
    const now = clock.monotonic();
    if (!read || now - read.at >= BACKLOG_MS.fresh) {
      const timeout = new AbortController();
      const late = clock.sleep(BACKLOG_MS.patience, timeout.signal).then(() => undefined);
      const found = readWaiting().catch(() => undefined);
      read = { at: now, waiting: Promise.race([found, late]).finally(() => timeout.abort()) };
    }
    return read.waiting;
  }

  return {
    contentType: registry.contentType,
    async render() {
      const waiting = await recentlyWaiting();
      setWaiting(waiting);
      setRails?.(waiting?.figures);
      return registry.metrics();
    },
    watchProcess: () =>
      collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_EVERY_MS }),
  };
}

function countRequests({ on }: Pick<Telemetry, "on">, { counter, histogram }: Makers): void {
  const requests = counter("http_requests_total", "operation", "status");
  const durations = histogram("http_request_duration_seconds", DURATIONS, "operation");
  const logged = counter("request_log_entries_total", "result");
  const addLogged = (counts: Record<"stored" | "dropped", number>) => {
    for (const [result, count] of Object.entries(counts)) logged.inc({ result }, count);
  };
  addLogged({ stored: 0, dropped: 0 });
  on("requestLog", addLogged);
  on("request", ({ operationId, route, status = "none", durationMs }) => {
    const operation = operationId ?? String(route);
    requests.inc({ operation, status });
    durations.observe({ operation }, durationMs / 1_000);
  });
}

function countWork({ on }: Pick<Telemetry, "on">, { counter, gauge, histogram }: Makers): void {
  const commitDurations = histogram("storage_commit_duration_seconds", DURATIONS);
  const commitItems = histogram("storage_commit_items", ITEMS);
  const settlements = histogram("settlement_delay_seconds", DELAYS);
  const attempts = counter("webhook_attempts_total", "result");
  const attemptDurations = histogram("webhook_attempt_duration_seconds", DURATIONS);
  const attemptDelays = histogram("webhook_attempt_delay_seconds", DELAYS);
  const storageUp = gauge("storage_up");
  const clockAhead = gauge("clock_ahead_seconds");
  const clockSteps = counter("clock_steps_total");

  // Start at 0: a counter that first appears with a failure would have no rate at that moment.
  for (const result of Object.values(RESULTS)) attempts.inc({ result }, 0);
  storageUp.set(1);

  on("commit", ({ items, durationMs }) => {
    commitDurations.observe(durationMs / 1_000);
    commitItems.observe(items);
  });
  on("settled", ({ delayMs }) => settlements.observe(delayMs / 1_000));
  on("attempt", ({ status, durationMs, delayMs }) => {
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

/** Returns the seconds since a time; 0 without a time. */
type Age = (since: number | undefined) => number;

/** Returns a function that sets the gauges of the waiting work and of payments, or removes their values. */
function waitingGauges({ gauge }: Makers, age: Age): (waiting: Waiting | undefined) => void {
  const gauges: [Gauge, (waiting: Waiting) => number][] = [
    [gauge("webhook_deliveries_due"), ({ backlog }) => backlog.dueDeliveries],
    [gauge("webhook_deliveries_waiting"), ({ backlog }) => backlog.waitingDeliveries],
    [gauge("webhook_oldest_due_seconds"), ({ backlog }) => age(backlog.oldestDeliveryDueAt)],
    [gauge("webhook_receivers_failing"), ({ failingReceivers }) => failingReceivers],
    [gauge("settlements_due"), ({ backlog }) => backlog.dueSettlements],
    [gauge("settlement_oldest_due_seconds"), ({ backlog }) => age(backlog.oldestSettlementDueAt)],
    [gauge("payouts_oldest_pending_seconds"), ({ oldestPending }) => age(oldestPending)],
  ];
  return (waiting) => {
    for (const [each, value] of gauges) {
      if (waiting) each.set(value(waiting));
      else each.remove();
    }
  };
}

/**
 * Counts calls to rails and what they led to. Returns a function that sets the gauges of payments on rails, or removes
 * their values. The names of rails are few, and operators choose them.
 */
function watchRails(
  { on }: Pick<Telemetry, "on">,
  { counter, gauge, histogram }: Makers,
  age: Age,
  names: readonly string[],
): (figures: readonly HandoverFigures[] | undefined) => void {
  const calls = counter("rail_calls_total", "rail", "action", "result");
  const durations = histogram("rail_call_duration_seconds", [...DURATIONS, 30], "rail");
  const results = counter("rail_results_total", "rail", "result");
  const timesToFinal = histogram("rail_time_to_final_seconds", TIMES_TO_FINAL, "rail");
  for (const rail of names) {
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

  const gauges: [Gauge, (figures: HandoverFigures) => number][] = [
    [gauge("rail_payments_waiting", "rail"), ({ waiting }) => waiting],
    [gauge("rail_payments_accepted", "rail"), ({ accepted }) => accepted],
    [gauge("rail_conflicts_open", "rail"), ({ conflicts }) => conflicts],
    [gauge("rail_oldest_unknown_seconds", "rail"), ({ oldestUnknownSince }) => age(oldestUnknownSince)],
  ];
  return (figures) => {
    for (const [each, value] of gauges) {
      each.reset();
      if (!figures) continue;
      for (const rail of names) each.set({ rail }, 0);
      for (const found of figures) each.set({ rail: found.rail }, value(found));
    }
  };
}
