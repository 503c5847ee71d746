// Starts the server, and ends it.
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { writeAddress, writeFirstKey } from "./own-files.ts";
import { banner, servesDashboard } from "./banner.ts";
import { ConfigError, readConfig, withPort, type Config } from "./config.ts";
import { actorName } from "./domain/audit.ts";
import { createSystemClock, type Clock } from "./domain/clock.ts";
import { createLink, linkAddress } from "./domain/sign-in.ts";
import { ServiceError } from "./domain/errors.ts";
import { createIds } from "./domain/ids.ts";
import { modeOf } from "./domain/keys.ts";
import { prepareFirstMerchant, type MerchantContext } from "./domain/merchants.ts";
import type { Storage } from "./domain/storage.ts";
import { createTelemetry } from "./domain/telemetry.ts";
import { connectionLimit, listen, ListenError, type HttpServer } from "./http/http-server.ts";
import { createLog } from "./log.ts";
import { logTelemetry, prettyLine, watchLoopDelay } from "./observability/log-telemetry.ts";
import type { Traces } from "./observability/traces.ts";
import { operator } from "./operator.ts";
import { RailsError } from "./rails/settings.ts";
import { createService, type Service } from "./service.ts";
import { openStorage, whenAvailable } from "./storage/open.ts";
import { serveStorage, type ServedStorage } from "./storage/socket.ts";
import { StorageError, UnknownOutcome } from "./storage/storage-error.ts";
import { letHeapGrow } from "./heap.ts";
import { dnsLookup, hostsLookup } from "./webhooks/lookup.ts";

/** How long a failed start may take to close what it has opened. */
const CLOSE_MS = 5_000;
const PLAIN_SECRETS =
  "the webhook secrets are stored unencrypted, so a copy of the database lets its reader sign webhooks. Set SECRETS_KEY_FILE";

/** @param opened receives how to close what keeps the process alive, if the start fails */
async function start(config: Config, opened: (() => unknown)[]): Promise<void> {
  // Opening the standard output also makes a pipe non-blocking, so that a stalled reader cannot block the log. Its
  // errors are ignored, because the server must also run if its output is a full disk.
  process.stdout.on("error", () => undefined);
  const { isTTY, fd } = process.stdout;
  const format = isTTY ? await prettyLine(config.color) : undefined;
  const { log, flush } = createLog(config.logLevel, fd, format);
  const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber of the server's events failed"));
  logTelemetry(telemetry, log);
  const clock = createSystemClock((report) => telemetry.emit("clock", report));
  const ids = createIds(randomBytes, modeOf(config));
  const open = () =>
    openStorage(config.database, {
      clock,
      server: true,
      mode: config.mode,
      emit: telemetry.emit,
      live: !config.sandbox,
      secretKeys: config.secretKeys,
      warn: (message) => log.warn(message),
    });
  const onPause = ({ message }: Error, ms: number) =>
    log.warn(`${message} The start waits for the database and tries again in ${ms / 1_000} s.`);
  opened.push(() => flush(500));
  const storage = await untilSignal(config, async (stopping) => {
    const sleep = async (ms: number) => {
      await clock.sleep(ms, stopping);
      if (stopping.aborted) throw new Stopped();
    };
    const available = await whenAvailable(open, { sleep, onPause });
    opened.push(() => available.close());
    return available;
  });
  if (!config.sandbox && !config.secretKeys) log.warn(PLAIN_SECRETS);
  const commands = await serveCommands(config, storage, (reason) =>
    log.warn(
      `commands are refused while this server runs, because they cannot use a socket beside its database: ${reason}`,
    ),
  );

  opened.push(() => commands?.close());

  // These modules, and their libraries, are loaded only if they are used.
  const metrics =
    config.metrics && (await import("./observability/metrics.ts")).createMetrics({ config, telemetry, storage, clock });
  metrics?.watchProcess();
  const traces =
    config.traces &&
    (await import("./observability/traces.ts")).startTraces({ settings: config.traces, telemetry, clock, ids, log });
  opened.push(() => traces?.close(500));
  const rails =
    config.rails &&
    (await (await import("./rails/open.ts")).openRails(config.rails, { clock, warn: (text) => log.warn(text) }));
  opened.push(() => rails?.close());

  const merchants = { storage, clock, ids, random: randomBytes, actor: operator("server") };
  const first = config.sandbox ? "Sandbox Merchant" : "First Merchant";
  const prepare = () => storage.exclusively(() => prepareFirstMerchant(merchants, first, config.sandboxApiKey));
  // Store a key from SANDBOX_API_KEY before the server listens, because it must be valid at the first request.
  const given = config.sandboxApiKey === undefined ? undefined : await prepare();

  let service!: Service;
  const httpServer = await listen({ ...config, maxConnections: connectionLimit(), clock, ids, log }, (port) => {
    service = createService({
      config: withPort(config, port),
      storage,
      clock,
      ids,
      random: randomBytes,
      chance: Math.random,
      log,
      telemetry,
      metrics,
      traces,
      rails,
      lookup: config.webhookAllowPrivate ? hostsLookup(dnsLookup()) : dnsLookup(),
    });
    return service.app;
  });
  opened.push(
    () => service.stop(0),
    () => httpServer.close(0),
  );
  // A new key is shown only once. Create it after the server has started to listen, so that a failed start loses no key.
  const { newKey, revokedKeyId } = given ?? (await prepare());
  const shown = newKey === undefined ? undefined : keep(newKey, config);
  const color = process.stdout.isTTY && config.color;
  const running = withPort(config, httpServer.port);
  const signIn = await signInLink(running, merchants);
  const forget = writeAddress(config.database, running.publicUrl);
  // Handle signals first: a program that reads the banner may send a signal at once.
  stopOnSignal({ config, service, httpServer, commands, storage, traces, clock, flush, forget });
  process.stdout.write(banner({ config: running, newKey: shown, revokedKeyId, signIn, color }));
  watchLoopDelay(telemetry.emit);
  letHeapGrow();
}

/** Thrown if a signal ended the start. */
class Stopped extends Error {}

/**
 * Lets a signal abort the work. Without a handler, the first process of a container ignores signals.
 * @throws Stopped
 */
async function untilSignal<T>({ shutdownTimeoutMs }: Config, work: (stopping: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const abort = () => {
    stop.abort();
    setTimeout(endNow, shutdownTimeoutMs).unref();
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.once(signal, abort);
  try {
    const result = await work(stop.signal);
    // A signal that arrived while a file was opened is noticed in the next turn of the event loop.
    await nextTurn();
    if (stop.signal.aborted) throw new Stopped();
    return result;
  } finally {
    for (const signal of signals) process.off(signal, abort);
  }
}

/**
 * Ends the process at once, whatever it does. `process.exit` would first wait for V8's threads, and after real work one
 * of them may wait for this thread, for ever (nodejs/node#54918). A signal without a handler does not reach the first
 * process of a container, and there the container's runtime ends a process that hangs.
 */
function endNow(): void {
  process.kill(process.pid, "SIGKILL");
  // oxlint-disable-next-line no-restricted-properties
  process.exit(1);
}

/**
 * Decides where a new key is shown. Output that is not a terminal may be a log that others read, so the key then goes
 * into a file that only its owner may read: beside the database, or under `data` if the database is elsewhere. The key
 * of an in-memory database is lost when the process ends, so it needs no file.
 */
function keep(text: string, { database }: Config): { text: string } | { file: string } {
  const path = database.kind === "sqlite" ? database.path : "data/server";
  if (process.stdout.isTTY || path === ":memory:") return { text };
  return { file: writeFirstKey(dirname(path), text) };
}

/**
 * Makes a link that signs an operator in, if the output is a terminal. Other output may be a log that others read, so
 * the operator then makes a link with the command line.
 */
async function signInLink(
  config: Config,
  { actor, ...context }: MerchantContext & { storage: Storage },
): Promise<string | undefined> {
  if (!servesDashboard(config) || !process.stdout.isTTY) return undefined;
  const token = await createLink(
    context,
    { name: actorName(actor).replace(/^server /, ""), role: "administrator" },
    actor,
  );
  return linkAddress(config.publicUrl, token);
}

/**
 * Accepts commands for a SQLite file. With PostgreSQL, commands need no server; a database in memory cannot be shared
 * with them.
 */
async function serveCommands(
  { database }: Config,
  storage: Storage,
  refused: (reason: string) => void,
): Promise<ServedStorage | undefined> {
  if (database.kind === "postgres" || database.path === ":memory:") return undefined;
  return serveStorage(database.path, storage, refused);
}

interface Running {
  config: Config;
  service: Service;
  httpServer: HttpServer;
  commands: ServedStorage | undefined;
  storage: Storage;
  traces: Traces | undefined;
  clock: Clock;
  flush(timeoutMs: number): Promise<boolean>;
  /** Removes the note of the server's address. */
  forget(): void;
}

/**
 * On the first signal the process stops being ready, serves requests until load balancers have noticed (D55), finishes
 * what is in progress and closes everything, so that the process ends with 0. On a second signal, or if stopping takes
 * longer than SHUTDOWN_TIMEOUT_MS, it is killed; unfinished work continues in another process or at the next start.
 */
function stopOnSignal({ config, service, httpServer, commands, storage, traces, clock, flush, forget }: Running): void {
  const { shutdownTimeoutMs, drainDelayMs } = config;
  const timeoutMs = shutdownTimeoutMs - drainDelayMs;
  let stopping = false;
  const stop = async () => {
    if (stopping) endNow();
    stopping = true;
    setTimeout(endNow, shutdownTimeoutMs).unref();
    service.drain();
    httpServer.drain();
    await clock.sleep(drainDelayMs);
    service.release();
    await httpServer.close(0.5 * timeoutMs);
    await service.stop(0.3 * timeoutMs);
    commands?.close();
    forget();
    await Promise.all([storage.close(), traces?.close(0.1 * timeoutMs)]);
    const isFlushed = await flush(0.1 * timeoutMs);
    // A write to a reader that has stalled blocks a thread, and would keep the process alive.
    // oxlint-disable-next-line no-restricted-properties
    if (!isFlushed) process.exit();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}

function explain(error: unknown): unknown {
  const isAway = error instanceof UnknownOutcome || (error instanceof ServiceError && error.code === "unavailable");
  if (isAway) return `The database stopped working during the start: ${error.message} Start the server again.`;
  const expected = [ConfigError, StorageError, ListenError, ServiceError, RailsError].some(
    (known) => error instanceof known,
  );
  return expected ? (error as Error).message : error;
}

const opened: (() => unknown)[] = [];
try {
  await start(readConfig(process.env, { server: true }), opened);
} catch (error) {
  if (!(error instanceof Stopped)) {
    console.error(explain(error));
    process.exitCode = 1;
  }
  setTimeout(endNow, CLOSE_MS).unref();
  for (const close of opened.toReversed()) await Promise.resolve(close()).catch(() => undefined);
}
