import type { Clock } from "../../domain/clock.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import type { AskedMode } from "../../domain/mode.ts";
import { silent, type Emit } from "../../domain/telemetry.ts";
import { modeOfServer } from "../mode.ts";
import { DELIVERIES } from "../portable/delivery-queue.ts";
import { HANDOVERS } from "../portable/handovers.ts";
import { portableStorage } from "../portable/index.ts";
import { notingInsertions } from "../portable/noting.ts";
import { sealStoredSecrets } from "../portable/secrets.ts";
import { createSealing } from "../sealing.ts";
import { attemptRecorder } from "../tuned/attempts-sqlite.ts";
import { backlog } from "../tuned/backlog-sqlite.ts";
import { claimer, laneReader } from "../tuned/claims-sqlite.ts";
import { eventWriter } from "../tuned/events-sqlite.ts";
import { finders } from "../tuned/finders-sqlite.ts";
import { insertions } from "../tuned/insertions-sqlite.ts";
import { createLedger } from "../tuned/ledger-sqlite.ts";
import { requestRates } from "../tuned/request-rates-sqlite.ts";
import { settler } from "../tuned/settlement-sqlite.ts";
import { wrapped } from "../wrapped.ts";
import { createCheckpoints } from "./checkpoints.ts";
import type { Context } from "./context.ts";
import { explained, lockDatabase, MEMORY, openDatabase } from "./database.ts";
import { runNow, sqliteExecutor, statementRunner } from "./executor.ts";
import { watchHealth, type Health } from "./health.ts";
import { latestTime } from "./latest-time.ts";
import { createMerchantCache } from "./merchant-cache.ts";
import { migrate, migrateMemory, migrateUnused } from "./migrate.ts";
import { claimMode, sqliteMode } from "./mode.ts";
import { takeOwnership } from "./ownership.ts";
import { checkPages } from "./page-check.ts";
import { createPace } from "./pace.ts";
import { segmentWriter } from "./phone-segments.ts";
import { finishRebases } from "./rebase.ts";
import { createWriter } from "./writer.ts";

interface Options {
  clock: Clock;
  /** True for a server, which locks the file against other servers; false for a command. */
  server: boolean;
  /** The mode that a server asks for. If absent, the mode is not checked. */
  mode?: AskedMode;
  /** Reports a problem to the operator although the server starts. */
  warn?(message: string): void;
  /** Reports commits, settled records, and when the storage stops or starts working. */
  emit?: Emit;
  /** The keys that encrypt the webhook secrets. The first encrypts, all decrypt; none stores secrets as they are. */
  secretKeys?: readonly Buffer[];
  /** The payouts in a segment of those by phone number, for tests. */
  inASegment?: number;
}

/**
 * Opens a SQLite file (or `:memory:`), creating or migrating its schema.
 * @throws StorageError if the file is in use by another server, has a newer schema, or cannot be opened
 */
export function openSqlite(path: string, options: Options): Storage {
  return explained(path, () => open(path, options));
}

function open(
  path: string,
  { clock, server, mode: asked, emit = silent, warn, secretKeys, inASegment }: Options,
): Storage {
  // Check the mode first, so that a refusal changes nothing, not even the schema.
  const mode = asked && modeOfServer(sqliteMode(path), asked);
  const lock = server ? lockDatabase(path) : undefined;
  try {
    const db = openDatabase(path);
    if (lock) checkPages(db, path, { warn });
    if (path === MEMORY) migrateMemory(db);
    else if (lock) migrate(db);
    else migrateUnused(db, path);
    if (mode) claimMode(db, mode);
    const ownership = lock && takeOwnership(db, path, lock.id);
    if (server) finishRebases(db);

    const cache = createMerchantCache(db, respondToChallenge);
    const health = watchHealth(path, clock.monotonic, emit);
    const checkpoints = server ? createCheckpoints(db, path, { failed: health.checkpointFailed }) : undefined;
    const ledger = createLedger(db);
    const writer = createWriter(db, {
      beforeBegin: health.require,
      begun: cache.begun,
      beforeCommit() {
        ownership?.require();
        ledger.store();
        latest.record();
      },
      afterCommit() {
        checkpoints?.look();
        health.committed();
      },
      onCommit(items, durationMs) {
        checkpoints?.committed(health.log());
        emit("commit", { items, durationMs });
      },
      onRollback() {
        cache.clear();
        ledger.forget();
      },
      sleep: clock.sleep,
      pace: createPace(() => performance.now()),
    });
    const latest = latestTime(db, clock, server ? writer.write : undefined);
    if (server) db.exec("PRAGMA busy_timeout = 0");
    // Does this at once, so that a start after a correction of the clock continues without delay.
    void latest.repair();

    /** Shows a second server that this server is running. */
    function respondToChallenge() {
      if (ownership?.isChallenged()) writer.write(ownership.respond).catch(() => undefined);
    }

    const times = { now: () => clock.now(), dated: () => clock.dated(), leased: latest.leased };
    const writeEvent = eventWriter({ db, now: times.now, ledger });
    const context: Context = { db, ...writer, ...times, merchantOf: cache.merchantOf, cache, ledger, writeEvent, emit };
    const sealing = createSealing(secretKeys);
    const execute = statementRunner(db, times, cache.clear);
    db.exec("BEGIN");
    runNow(execute, sealStoredSecrets(sealing, { replace: server }));
    db.exec("COMMIT");
    const executor = sqliteExecutor(writer, execute, {
      sealing,
      claim: claimer(context),
      *writeEvents(records) {
        records.forEach(writeEvent);
        yield [];
      },
      *book(entries) {
        ledger.book(entries);
        yield [];
      },
      *lockAccount(place, enforced) {
        yield [];
        const account = ledger.accountOf(place);
        account.enforced = enforced ?? account.enforced;
        return account.available;
      },
    });
    const segments = segmentWriter(db, inASegment);
    const storage: Storage = {
      ...portableStorage(executor),
      ...notingInsertions(insertions(context)),
      ...finders(context),
      settleDue: settler(context),
      readyLanes: laneReader(context, DELIVERIES),
      handoverLanes: laneReader(context, HANDOVERS),
      recordAttempt: attemptRecorder(context),
      takeRequest: requestRates(times.now),
      // Only one server may use the file.
      exclusively: (work) => work(),
      indexPhones: async () => (writer.read(segments.isDue) ? writer.writeApart(segments.write) : 0),
      readBacklog: backlog(context),
      async ping() {
        await ping(context, health, latest.recordNow);
        await latest.repair();
      },
      async close() {
        // Wait for the writes in progress.
        await writer.write(() => undefined).catch(() => undefined);
        latest.close();
        await checkpoints?.close();
        cache.close();
        health.close(db);
        lock?.release();
      },
    };
    return wrapped(storage, {
      before: health.requireReadable,
      failed(error) {
        throw health.explain(error);
      },
    });
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/**
 * Commits a small write. If the storage is failing, also commits and removes as much data as several payouts need,
 * because a small write may still succeed on a full disk.
 */
async function ping({ db, write }: Context, health: Health, smallWrite: () => void) {
  await write(smallWrite);
  if (!health.failing) return;
  await write(() => db.exec("UPDATE server SET room = zeroblob(262144) WHERE id = 1"));
  await write(() => db.exec("UPDATE server SET room = NULL WHERE id = 1"));
  if (health.failing)
    throw new ServiceError("unavailable", "The server's storage failed a moment ago.", { retryAfterSeconds: 5 });
}
