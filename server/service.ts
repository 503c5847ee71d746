import type { Logger } from "pino";
import { withPort, type Config } from "./config.ts";
import { createChaosSwitch } from "./domain/outcomes.ts";
import { createLoadPayments } from "./domain/loading.ts";
import { createCheckouts, createDisbursements } from "./domain/payments.ts";
import { within, type Clock } from "./domain/clock.ts";
import type { Ids, Random } from "./domain/ids.ts";
import { InProgress, withLimitedLists } from "./domain/in-progress.ts";
import type { Rails } from "./domain/rails.ts";
import type { Storage } from "./domain/storage.ts";
import type { Telemetry } from "./domain/telemetry.ts";
import { createApp } from "./http/app.ts";
import { readText } from "./http/contract-input.ts";
import { listen } from "./http/http-server.ts";
import { railWebhookPath } from "./http/rail-webhooks.ts";
import type { Metrics } from "./observability/metrics.ts";
import type { Lookup } from "./webhooks/lookup.ts";
import { createSender } from "./webhooks/send.ts";
import { createDeliveryWorker, createReplay } from "./workers/deliveries.ts";
import { createHandoverWorker } from "./workers/handovers.ts";
import { createKeyUses, createRetention, PRUNE_EVENTS_EVERY_MS, RECORD_USES_EVERY_MS } from "./workers/housekeeping.ts";
import { startLoop, untilDone } from "./workers/loop.ts";
import { createAdvanceClock, createSettle } from "./workers/merchant-clock.ts";
import { startRequestLog } from "./workers/request-log.ts";

/** The intervals of the search for due settlements. With PostgreSQL each search costs every process a round trip. */
const SETTLE_EVERY_MS = { sqlite: 25, postgres: 100 };
const PRUNE_EVERY_MS = 1_000;
const PRUNED_PER_STEP = 1_000;
/**
 * What may be in progress at a time (D56). A request that comes while there is no room waits; webhooks and hand-overs
 * stay in their queues. Of other requests and lists, a few begin at a time.
 */
const PAYMENTS = { total: 160 };
const OTHERS = { sqlite: 1, postgres: 8 };
const WEBHOOKS = { total: 1_024, perHost: 144 };
const HANDOVERS = { total: 256, perHost: 128 };

interface Options {
  config: Config;
  storage: Storage;
  clock: Clock;
  ids: Ids;
  random: Random;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of retries and for chaos. */
  chance: () => number;
  log: Logger;
  telemetry: Telemetry;
  /** Serves `/metrics` if present. */
  metrics?: Metrics | undefined;
  lookup: Lookup;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
}

type Limits = Pick<Parameters<typeof listen>[0], "maxConnections" | "requestTimeoutMs">;

export type Service = ReturnType<typeof createService>;

/**
 * Starts a service on the port of its configuration, or on a port that the system chooses.
 * @throws ListenError if the server cannot listen on the address
 */
export async function startService(parts: Omit<Options, "metrics">, limits: Limits) {
  const { config, telemetry, storage, clock, ids, log } = parts;
  // This module, and its library, are loaded only if they are used.
  const metrics =
    config.metrics && (await import("./observability/metrics.ts")).createMetrics({ config, telemetry, storage, clock });
  let service!: Service;
  let running = config;
  const httpServer = await listen({ ...config, ...limits, clock, ids, log }, (port) => {
    running = withPort(config, port);
    service = createService({ ...parts, config: running, metrics });
    return service.app;
  });
  return { service, httpServer, metrics, config: running };
}

/** Assembles the server: domain, HTTP and workers on one storage. */
export function createService(options: Options) {
  const { config, storage, clock, ids, chance, log, telemetry, lookup, rails } = options;
  const { emit } = telemetry;
  const chaos = createChaosSwitch(chance, config.sandbox);
  const abort = new AbortController();
  const stopping = abort.signal;
  const drain = new AbortController();
  const draining = drain.signal;

  const sender = createSender({
    allowPrivate: config.webhookAllowPrivate,
    allowInsecure: config.webhookAllowInsecure,
    lookup,
    now: clock.now,
    onRefusal: (webhookId, detail) => log.warn({ webhookId, detail }, "a webhook was refused"),
  });
  const common = { storage, clock, chance, log, emit, stopping };
  const deliveries = createDeliveryWorker({
    ...common,
    sender,
    chaos,
    attempts: new InProgress(WEBHOOKS, clock),
  });
  const { wake } = deliveries;
  const handovers =
    rails &&
    createHandoverWorker({
      ...common,
      rails,
      attempts: new InProgress(HANDOVERS, clock),
      notifyUrl: (rail) => `${config.publicUrl}${railWebhookPath(rail)}`,
      returnUrl: (reference) => `${config.publicUrl}/checkouts/${reference}/return`,
      onFinal: wake,
    });
  const queues = handovers ? [deliveries, handovers] : [deliveries];
  const settle = createSettle(storage, stopping);
  const advanceClock = createAdvanceClock({ storage, settle, deliveries, stopping });
  const settleDue = async () => {
    if ((await settle()) > 0) wake();
  };
  const { kind } = config.database;
  const { retentionDays: days, phoneRetentionDays: phoneDays } = config;

  /** Background work, which other processes do if this one serves requests only. */
  const work: [job: () => Promise<void>, everyMs: number][] = [
    [settleDue, SETTLE_EVERY_MS[kind]],
    [() => untilDone(draining, async () => (await storage.prune(PRUNED_PER_STEP)) > 0), PRUNE_EVERY_MS],
    [createRetention({ storage, clock, days, phoneDays, stopping: draining }), PRUNE_EVENTS_EVERY_MS],
  ];
  const searches = config.role !== "api";
  const repeat = ([job, everyMs]: (typeof work)[number]) => startLoop(job, everyMs, { clock, log });
  const loops = searches ? work.map(repeat) : [];
  for (const queue of queues) queue.start({ searches, isShared: kind === "postgres", draining });
  const keyUses = createKeyUses({ storage });
  const keyUseLoop = repeat([keyUses.record, RECORD_USES_EVERY_MS]);
  const requestLog = config.requestLog ? startRequestLog({ storage, telemetry, clock, log }) : undefined;

  const endSearch = () => Promise.all([...queues.map((queue) => queue.drain()), ...loops.map((loop) => loop.stop())]);

  const { settleDelayMs, fees, balances } = config;
  const payments = new InProgress(PAYMENTS, clock);
  const room = { payments, others: new InProgress({ total: OTHERS[kind], first: payments }, clock) };
  // The storage for requests. The workers use the storage without these limits.
  const limited = withLimitedLists(storage, room.others);
  const handOver = () => handovers?.wake();
  const given = { settleDelayMs, fees, balances, routeOf: rails?.routeOf };
  const making = { ...given, storage: limited, clock, ids, stopping, settle, wake, handOver };
  const [disbursements, checkouts] = [createDisbursements(making), createCheckouts(making)];
  const loadPayments = createLoadPayments(making);
  const replay = createReplay(common, deliveries);

  return {
    app: createApp({
      ...options,
      storage: limited,
      room,
      emit,
      keyUses,
      railWebhooks: rails && {
        rails,
        storage,
        clock,
        failuresPerMinute: config.authFailuresPerMinute,
        onRecorded: handovers!.noteRecorded,
      },
      draining,
      stopping,
      chaos,
      disbursements,
      checkouts,
      loadPayments,
      loadText: (merchant, json, actor) =>
        loadPayments(merchant, readText("/sandbox/payments", json) as Parameters<typeof loadPayments>[1], actor),
      replay,
      advanceClock,
    }),
    settle,
    deliveries,
    loseNext: chaos.loseNext,
    /** Hands payments to rails; undefined in a sandbox. */
    handovers,
    /** Makes the service not ready, and ends its search for background work. It still serves requests. */
    drain() {
      drain.abort();
      void endSearch();
    },
    /** Makes the service send the responses that it delays. Call it before waiting for open connections. */
    release() {
      drain.abort();
      abort.abort();
    },
    /**
     * Ends the background work and leaves what it could not finish to other processes. The storage stays open.
     * @param drainMs how long webhook attempts in progress may take to finish, in real milliseconds
     */
    async stop(drainMs: number): Promise<void> {
      drain.abort();
      abort.abort();
      await endSearch();
      const idle = () => Promise.all(queues.map((queue) => queue.idle()));
      await within(clock, drainMs, Promise.all([requestLog?.stop(), idle()]));
      for (const queue of queues) queue.end();
      await sender.close();
      await idle();
      await Promise.all([keyUseLoop, ...queues].map((each) => each.stop()));
      // If the storage fails, the uses of keys of the last minute are lost.
      await keyUses.record().catch(() => undefined);
    },
  };
}
