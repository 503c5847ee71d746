import type { Express } from "express";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { createChaosSwitch } from "./domain/outcomes.ts";
import { createCheckouts } from "./domain/checkouts.ts";
import type { Clock } from "./domain/clock.ts";
import { createDisbursements } from "./domain/disbursements.ts";
import type { Ids, Random } from "./domain/ids.ts";
import { giveWay, InProgress, withLimitedLists } from "./domain/in-progress.ts";
import type { RailPayment, Rails } from "./domain/rails.ts";
import type { Storage } from "./domain/storage.ts";
import type { Telemetry } from "./domain/telemetry.ts";
import type { Recorded } from "./domain/handovers.ts";
import { createApp } from "./http/app.ts";
import { railWebhookPath } from "./http/rail-webhooks.ts";
import type { Metrics } from "./observability/metrics.ts";
import type { Traces } from "./observability/traces.ts";
import type { Lookup } from "./webhooks/lookup.ts";
import { createSender } from "./webhooks/send.ts";
import { createDeliveryWorker } from "./workers/deliveries.ts";
import { createHandoverWorker, noteRecorded } from "./workers/handovers.ts";
import { createRailGates, READ_PAUSES_EVERY_MS } from "./workers/rail-gates.ts";
import { createKeyUses, createRetention, PRUNE_EVENTS_EVERY_MS, RECORD_USES_EVERY_MS } from "./workers/housekeeping.ts";
import { startLoop, untilDone, type Loop } from "./workers/loop.ts";
import { END_LAPSED_EVERY_MS, RENEW_EVERY_MS, type QueueWorker } from "./workers/queue-worker.ts";
import { createMerchantClock } from "./workers/merchant-clock.ts";
import { advanceReplays, createSingleReplay } from "./workers/replays.ts";
import { startRequestLog } from "./workers/request-log.ts";
import { createSettlement, type Settlement } from "./workers/settlement.ts";

/** The intervals of the search for due settlements. With PostgreSQL each search costs every process a round trip. */
const SETTLE_EVERY_MS = { sqlite: 25, postgres: 100 };
const CLAIM_EVERY_MS = 100;
const REPLAY_EVERY_MS = 250;
const PRUNE_EVERY_MS = 1_000;
const PRUNED_PER_STEP = 1_000;
/**
 * What may be in progress at a time (D56). A request that comes while there is no room waits; webhooks and hand-overs
 * stay in their queues. Of other requests and lists, a few begin at a time.
 */
const PAYMENTS = { total: 160 };
const OTHERS = { sqlite: 1, postgres: 8 };
const WEBHOOKS = { total: 1_024, perHost: 128 };
const HANDOVERS = { total: 256, perHost: 128 };
/** How long a stop of the server waits for rails to close, in real milliseconds. */
const CLOSE_RAILS_MS = 500;
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
  /** Exports traces if present. */
  traces?: Traces | undefined;
  lookup: Lookup;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
}

export interface Service {
  app: Express;
  settlement: Settlement;
  deliveries: QueueWorker;
  /** Takes the due steps of the replays in progress. */
  advanceReplays(): Promise<void>;
  /** Hands payments to rails; absent in a sandbox. */
  handovers?: QueueWorker | undefined;
  /** Makes the service not ready, and ends its search for background work. It still serves requests. */
  drain(): void;
  /** Makes the service send the responses that it delays. Call it before waiting for open connections. */
  release(): void;
  /**
   * Ends the background work and leaves what it could not finish to other processes. The storage stays open.
   * @param drainMs how long webhook attempts in progress may take to finish, in real milliseconds
   */
  stop(drainMs: number): Promise<void>;
}

/** Waits for work, but not longer than a number of real milliseconds. */
async function within(clock: Clock, ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const ended = new AbortController();
  await Promise.race([work, clock.sleep(ms, ended.signal)]).finally(() => ended.abort());
}

const endAll = (loops: readonly (Loop | undefined)[]) => Promise.all(loops.map((loop) => loop?.stop()));

/** Assembles the server: domain, HTTP and workers on one storage. */
export function createService(options: Options): Service {
  const { config, storage, clock, ids, random, chance, log, telemetry, metrics, traces, lookup } = options;
  const { emit } = telemetry;
  if (config.sandbox === (options.rails !== undefined))
    throw new Error("A live service needs rails, and a sandbox has no rails.");
  const chaos = createChaosSwitch(chance, config.sandbox);
  const abort = new AbortController();
  const stopping = abort.signal;
  const drain = new AbortController();
  const draining = drain.signal;
  const wake = () => deliveryQueue.search?.wake();

  const sender = createSender({
    allowPrivate: config.webhookAllowPrivate,
    allowInsecure: config.webhookAllowInsecure,
    lookup,
    now: clock.now,
    onRefusal: (webhookId, detail) => log.warn({ webhookId, detail }, "a webhook was refused"),
  });
  const deliveries = createDeliveryWorker({
    storage,
    clock,
    sender,
    chaos,
    attempts: new InProgress(WEBHOOKS, clock),
    chance,
    log,
    emit,
    span: ids.span,
    stopping,
    onEnd: wake,
  });
  const replay = () => advanceReplays(storage, draining, wake);
  const settlement = createSettlement(storage, stopping);
  const merchantClock = createMerchantClock({ storage, clock, settlement, deliveries, stopping });

  /** Starts background work, unless other processes do it. */
  const startWork: typeof startLoop | (() => undefined) = config.role === "api" ? () => undefined : startLoop;
  /** Starts the search for entries of a queue, and keeps the claims of its attempts. */
  function startQueue(worker: QueueWorker) {
    const search = () => untilDone(draining, async () => (await worker.begin()) > 0);
    return {
      search: startWork(search, CLAIM_EVERY_MS, { clock, log }),
      // A process without background work also attempts deliveries, which a move of a merchant's clock makes due.
      renewal: startLoop(worker.renew, RENEW_EVERY_MS, { clock, log }),
      // A SQLite database has one process, so there is no other process that could take over its claims.
      lapse:
        config.database.kind === "postgres"
          ? startLoop(async () => worker.endLapsed(), END_LAPSED_EVERY_MS, { clock, log })
          : undefined,
    };
  }
  const settlementLoop = startWork(
    async () => {
      if ((await settlement.settle()) > 0) wake();
    },
    SETTLE_EVERY_MS[config.database.kind],
    { clock, log },
  );
  const deliveryQueue = startQueue(deliveries);
  const { retentionDays: days, phoneRetentionDays: phoneDays } = config;
  const retain = createRetention({ storage, clock, days, phoneDays, stopping: draining });
  const hasRetention = (days ?? phoneDays) !== undefined;
  const retentionLoop = hasRetention ? startWork(retain, PRUNE_EVENTS_EVERY_MS, { clock, log }) : undefined;
  const replayLoop = startWork(replay, REPLAY_EVERY_MS, { clock, log });
  const prune = async () => (await storage.prune(PRUNED_PER_STEP)) > 0;
  const pruningLoop = startWork(() => untilDone(draining, prune), PRUNE_EVERY_MS, { clock, log });

  const rails = options.rails && startRails(options.rails);
  /** Starts the hand-over of payments to rails. */
  function startRails(opened: Rails) {
    const gates = createRailGates({ rails: opened, storage, clock, log });
    const recording = { clock, log, emit, onFinal: wake };
    const handOver = () => queue.search?.wake();
    const worker = createHandoverWorker({
      ...recording,
      storage,
      rails: opened,
      gates,
      clock,
      attempts: new InProgress(HANDOVERS, clock),
      stopping,
      chance,
      notifyUrl: (rail) => `${config.publicUrl}${railWebhookPath(rail)}`,
      returnUrl: (reference) => `${config.publicUrl}/checkouts/${reference}/return`,
      onEnd: handOver,
    });
    const queue = startQueue(worker);
    return {
      worker,
      queue,
      handOver,
      pauses: startWork(gates.refresh, READ_PAUSES_EVERY_MS, { clock, log }),
      webhooks: {
        rails: opened,
        storage,
        clock,
        failuresPerMinute: config.authFailuresPerMinute,
        onRecorded: (rail: string, payment: RailPayment, recorded: Recorded) =>
          noteRecorded(recording, rail, payment, recorded),
      },
    };
  }

  const keyUses = createKeyUses({ storage, clock });
  const keyUseLoop = startLoop(keyUses.record, RECORD_USES_EVERY_MS, { clock, log });

  const endSearch = () =>
    endAll([
      settlementLoop,
      deliveryQueue.search,
      rails?.queue.search,
      rails?.pauses,
      replayLoop,
      pruningLoop,
      retentionLoop,
    ]);

  const requestLog = config.requestLog ? startRequestLog({ storage, telemetry, clock, log }) : undefined;

  const { settleDelayMs, fees } = config;
  const payments = new InProgress(PAYMENTS, clock);
  const pause = () => giveWay(payments);
  const room = { payments, others: new InProgress({ total: OTHERS[config.database.kind], pause }, clock) };
  // The storage for requests. The workers use the storage without these limits.
  const limited = withLimitedLists(storage, room.others);
  const handOver = () => rails?.handOver();
  const routeOf = options.rails?.routeOf;
  const shared = { storage: limited, clock, ids, routeOf, settleDelayMs, stopping, wake, handOver };
  const disbursements = createDisbursements({ ...shared, fee: fees.disbursement, balances: config.balances });
  const checkouts = createCheckouts({ ...shared, fee: fees.checkout, settle: settlement.settle });
  const attempt = createSingleReplay({ storage, clock, deliveries, stopping, onReady: wake });

  return {
    app: createApp({
      config,
      storage: limited,
      room,
      clock,
      ids,
      random,
      log,
      emit,
      metrics,
      traces,
      keyUses,
      rails: options.rails,
      railWebhooks: rails?.webhooks,
      draining,
      stopping,
      chaos,
      disbursements,
      checkouts,
      attempt,
      merchantClock,
    }),
    settlement,
    deliveries,
    advanceReplays: replay,
    handovers: rails?.worker,
    drain() {
      drain.abort();
      void endSearch();
    },
    release() {
      drain.abort();
      abort.abort();
    },
    async stop(drainMs) {
      drain.abort();
      abort.abort();
      await endSearch();
      await within(clock, drainMs, Promise.all([requestLog?.stop(), deliveries.idle(), rails?.worker.idle()]));
      rails?.worker.end();
      await sender.close();
      await Promise.all([deliveries.idle(), rails?.worker.idle()]);
      await endAll([keyUseLoop, ...[deliveryQueue, rails?.queue].flatMap((queue) => [queue?.renewal, queue?.lapse])]);
      // If the storage fails, the leases expire instead, and the uses of keys of the last minute are lost.
      await deliveries.giveUp().catch(() => undefined);
      await rails?.worker.giveUp().catch(() => undefined);
      await keyUses.record().catch(() => undefined);
      await within(clock, CLOSE_RAILS_MS, options.rails?.close());
    },
  };
}
