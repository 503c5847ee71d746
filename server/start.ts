// Starts the server, and ends it.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { writeAddress, writeFirstKey } from "./own-files.ts";
import { banner, servesDashboard } from "./banner.ts";
import { isExpected } from "./commands/command.ts";
import { readConfig, type Config } from "./config.ts";
import { actorName } from "./domain/audit.ts";
import { createSystemClock, within } from "./domain/clock.ts";
import { ServiceError } from "./domain/errors.ts";
import { createIds } from "./domain/ids.ts";
import { modeOf } from "./domain/keys.ts";
import { prepareFirstMerchant } from "./domain/merchants.ts";
import { createLink, linkAddress } from "./domain/sign-in.ts";
import { ruled } from "./domain/storage.ts";
import { createTelemetry } from "./domain/telemetry.ts";
import { connectionLimit } from "./http/http-server.ts";
import { createLog } from "./log.ts";
import { logTelemetry, prettyLine } from "./observability/log-telemetry.ts";
import { operator } from "./operator.ts";
import { startService } from "./service.ts";
import { openStorage, whenAvailable } from "./storage/open.ts";
import { serveStorage } from "./storage/socket.ts";
import { UnknownOutcome } from "./storage/storage-error.ts";
import { dnsLookup, hostsLookup } from "./webhooks/lookup.ts";

/** How long a failed start may take to close what it has opened. */
const CLOSE_MS = 5_000;
const PLAIN_SECRETS =
  "the webhook secrets are stored unencrypted, so a copy of the database lets its reader sign webhooks. Set SECRETS_KEY_FILE";

/** Closes something that keeps the process alive, within its part of the time that closing everything may take. */
type Close = (timeoutMs: number) => unknown;
const opened: Close[] = [];

/** Starts a server that runs until the signal `stopping`. @throws AbortError if the signal ended the start */
async function start(config: Config, stopping: AbortSignal) {
  // Opening the standard output also makes a pipe non-blocking, so that a stalled reader cannot block the log. Its
  // errors are ignored, because the server must also run if its output is a full disk.
  process.stdout.on("error", () => undefined);
  const { isTTY, fd } = process.stdout;
  const format = isTTY ? await prettyLine() : undefined;
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
      secretKeys: config.secretKeys,
    });
  const onPause = ({ message }: Error, ms: number) =>
    log.warn(`${message} The start waits for the database and tries again in ${ms / 1_000} s.`);
  // A write to a reader that has stalled blocks a thread, and would keep the process alive.
  // oxlint-disable-next-line no-restricted-properties
  opened.push(async (timeoutMs) => (await flush(0.1 * timeoutMs)) || process.exit());
  const sleep = async (ms: number) => {
    await clock.sleep(ms, stopping);
    stopping.throwIfAborted();
  };
  const storage = await whenAvailable(open, { sleep, onPause });
  opened.push(() => storage.close());
  // A signal that arrived while a file was opened is noticed in the next turn of the event loop.
  await nextTurn();
  stopping.throwIfAborted();
  if (!config.sandbox && !config.secretKeys) log.warn(PLAIN_SECRETS);
  const { database } = config;
  // With PostgreSQL, commands need no server; a database in memory cannot be shared with them.
  if (database.kind === "sqlite" && database.path !== ":memory:") {
    const stopServing = await serveStorage(database.path, ruled(storage, config)).catch(({ message }: Error) =>
      log.warn(
        `commands are refused while this server runs, because they cannot use a socket beside its database: ${message}`,
      ),
    );
    opened.push(() => stopServing?.());
  }

  // This module, and its libraries, are loaded only if they are used.
  const rails =
    config.rails &&
    (await (await import("./rails/open.ts")).openRails(config.rails, { clock, warn: (text) => log.warn(text) }));
  if (rails) opened.push((timeoutMs) => within(clock, 0.1 * timeoutMs, rails.close()));

  const merchants = { storage, clock, ids, random: randomBytes, actor: operator("server") };
  const first = config.sandbox ? "Sandbox Merchant" : "First Merchant";
  const prepare = () => storage.exclusively(() => prepareFirstMerchant(merchants, first, config.sandboxApiKey));
  // Store a key from SANDBOX_API_KEY before the server listens, because it must be valid at the first request.
  const given = config.sandboxApiKey === undefined ? undefined : await prepare();

  const lookup = config.webhookAllowPrivate ? hostsLookup(dnsLookup()) : dnsLookup();
  const chance = Math.random;
  const parts = { config, storage, clock, ids, random: randomBytes, chance, log, telemetry, lookup, rails };
  const limits = { maxConnections: connectionLimit() };
  const { service, httpServer, metrics, config: running } = await startService(parts, limits);
  opened.push(
    (timeoutMs) => service.stop(0.3 * timeoutMs),
    (timeoutMs) => httpServer.close(0.5 * timeoutMs),
  );
  metrics?.watchProcess();
  // A new key is shown only once. Create it after the server has started to listen, so that a failed start loses no key.
  const { newKey, revokedKeyId } = given ?? (await prepare());
  const shown = newKey === undefined ? undefined : keep(newKey, config);
  opened.push(writeAddress(database, running.publicUrl));
  const { actor, ...context } = merchants;
  const person = { name: actorName(actor).replace(/^server /, ""), role: "administrator" } as const;
  // Output that is no terminal may be a log that others read, so the operator then makes a link with the command line.
  const signIn =
    isTTY && servesDashboard(running)
      ? linkAddress(running.publicUrl, await createLink(context, person, actor))
      : undefined;
  process.stdout.write(banner({ config: running, newKey: shown, revokedKeyId, signIn }));
  return { service, httpServer, clock };
}

/**
 * Returns a signal that SIGINT or SIGTERM aborts. A second one ends the process at once, and so does the end of the time
 * for stopping; unfinished work continues in another process or at the next start. Without a handler, the first process
 * of a container ignores signals.
 */
function untilSignal(timeoutMs: number): AbortSignal {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) endNow();
    stop.abort();
    setTimeout(endNow, timeoutMs).unref();
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, onSignal);
  return stop.signal;
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

function explain(error: unknown): unknown {
  const mayRecover = error instanceof UnknownOutcome || (error instanceof ServiceError && error.code === "unavailable");
  if (mayRecover) return `The database stopped working during the start: ${error.message} Start the server again.`;
  return isExpected(error) ? error.message : error;
}

/** Closes what has been opened, in the opposite order. */
async function closeAll(timeoutMs: number): Promise<void> {
  for (const close of opened.splice(0).toReversed()) {
    try {
      await close(timeoutMs);
    } catch (error) {
      console.error(error);
    }
  }
}

let stopping: AbortSignal | undefined;
try {
  const config = readConfig(process.env, { server: true });
  const { shutdownTimeoutMs, drainDelayMs } = config;
  stopping = untilSignal(shutdownTimeoutMs);
  const { service, httpServer, clock } = await start(config, stopping);
  if (!stopping.aborted) await once(stopping, "abort");
  // The process stops being ready, and serves requests until load balancers have noticed (D55). Then it finishes what is
  // in progress.
  service.drain();
  httpServer.drain();
  await clock.sleep(drainDelayMs);
  service.release();
  await closeAll(shutdownTimeoutMs - drainDelayMs);
} catch (error) {
  if (error !== stopping?.reason) {
    console.error(explain(error));
    process.exitCode = 1;
  }
  setTimeout(endNow, CLOSE_MS).unref();
  await closeAll(CLOSE_MS);
}
