import { ServiceError } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import { silent } from "../../domain/telemetry.ts";
import { correction, futureTimes } from "../future-times.ts";
import { claim, modeOfServer, type FoundMode, type OpenOptions } from "../mode.ts";
import { backlog } from "../portable/backlog.ts";
import { DELIVERIES } from "../portable/delivery-queue.ts";
import { HANDOVERS } from "../portable/handovers.ts";
import { portableStorage } from "../portable/index.ts";
import { notingInsertions } from "../portable/noting.ts";
import { createSealing } from "../sealing.ts";
import type { DatabaseStatus } from "../status.ts";
import { attemptRecorder } from "../tuned/attempts-sqlite.ts";
import { claimer, laneReader } from "../tuned/claims-sqlite.ts";
import { eventWriter } from "../tuned/events-sqlite.ts";
import { finders } from "../tuned/finders-sqlite.ts";
import { insertions } from "../tuned/insertions-sqlite.ts";
import { createLedger } from "../tuned/ledger-sqlite.ts";
import { requestRates } from "../tuned/request-rates-sqlite.ts";
import { settler } from "../tuned/settlement-sqlite.ts";
import { wrapped } from "../storage-error.ts";
import { backupSqlite } from "./backup.ts";
import { createMerchantCache, type Context } from "./context.ts";
import { explained, MEMORY, openDatabase, watchNames } from "./database.ts";
import { runNow, sqliteExecutor, statementRunner } from "./executor.ts";
import { createHealth, type Health } from "./health.ts";
import { migrate, migrateMemory } from "./migrate.ts";
import { modeOf, statusOf } from "./tools.ts";
import { createWriter } from "./writer.ts";

/** The storage in a SQLite file, and what an operator does with the file while a server has it open. */
export interface SqliteStorage extends Storage {
  readMode(): Promise<FoundMode>;
  readStatus(): Promise<DatabaseStatus>;
  /** Writes a copy into a new file. @throws StorageError if the file exists or cannot be written */
  backup(file: string): Promise<void>;
}

/** How often a server looks whether its clock has gone back, and whether its files have their names. */
const LOOK_EVERY_MS = 1_000;
/** After so many commits, the log is copied into the file. A page changes many times, and each copy writes it once. */
const COMMITS_PER_CHECKPOINT = 64;

/**
 * Opens a SQLite file (or `:memory:`), creating or migrating its schema.
 * @throws StorageError if another program uses the file, it has a newer schema, or it cannot be opened
 */
export function openSqlite(path: string, options: OpenOptions): SqliteStorage {
  return explained(path, () => open(path, options));
}

function open(path: string, { clock, server, mode: asked, emit = silent, secretKeys }: OpenOptions): SqliteStorage {
  const db = openDatabase(path);
  try {
    // Check the mode first, so that a refusal changes nothing, not even the schema.
    const mode = asked && modeOfServer(modeOf(db), asked);
    if (path === MEMORY) migrateMemory(db);
    else migrate(db);
    const times = { now: () => clock.now(), leased: () => Math.floor(clock.monotonic()) };
    // The process that held these claims has ended. Leases and doubt are measured with the counter of this process.
    for (const { name } of [DELIVERIES, HANDOVERS])
      db.exec(`UPDATE ${name} SET leased_until = 0 WHERE leased_until > 0`);
    db.exec(
      `UPDATE handovers SET asked_leased = ${times.leased()} WHERE state <> 'closed' AND asked_leased IS NOT NULL`,
    );

    const cache = createMerchantCache(db);
    const health = createHealth(clock.monotonic, emit);
    const ledger = createLedger(db);
    /** Runs after the responses to a commit. SQLite's own checkpoints do not report that a flush has failed. */
    function checkpoint() {
      try {
        if (db.isOpen) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
      } catch (error) {
        health.checkpointFailed(error);
      }
    }
    let commits = 0;
    db.exec("PRAGMA wal_autocheckpoint = 0");
    const writer = createWriter(db, {
      beforeBegin: health.require,
      beforeCommit: ledger.store,
      onCommit(items, durationMs) {
        health.committed();
        commits += 1;
        if (commits % COMMITS_PER_CHECKPOINT === 0) setImmediate(checkpoint);
        emit("commit", { items, durationMs });
      },
      onRollback(error) {
        health.explain(error);
        cache.clear();
        ledger.forget();
      },
    });
    const writeEvent = eventWriter({ db, ledger });
    const context: Context = { db, ...writer, ...times, merchantOf: cache.merchantOf, cache, ledger, writeEvent, emit };
    const sealing = createSealing(secretKeys);
    const execute = statementRunner(context);
    db.exec("BEGIN");
    runNow(execute, claim(mode, sealing, { server }));
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
    const correct = correction(clock, () =>
      writer.write(() => {
        for (const sql of futureTimes(String(clock.now()), "a.event_id = events.id")) db.exec(sql);
      }),
    );
    const haveNames = watchNames(path);
    async function look() {
      if (!haveNames()) health.moved();
      await correct();
    }
    const timer = server ? setInterval(look, LOOK_EVERY_MS).unref() : undefined;
    if (server) void correct();
    const storage: SqliteStorage = {
      ...portableStorage(executor),
      ...notingInsertions(insertions(context)),
      ...finders(context),
      settleDue: settler(context),
      ...backlog(executor, laneReader(context, DELIVERIES)),
      handoverLanes: laneReader(context, HANDOVERS),
      recordAttempt: attemptRecorder(context),
      takeRequest: requestRates(clock.monotonic),
      // Only one server may use the file.
      exclusively: (work) => work(),
      async ping() {
        await look();
        await ping(context, health);
      },
      async close() {
        // Wait for the writes in progress.
        await writer.write(() => undefined).catch(() => undefined);
        clearInterval(timer);
        db.close();
      },
      readMode: async () => modeOf(db),
      readStatus: async () => statusOf(db, path, { now: clock.now(), inUse: true }),
      backup: (file) => backupSqlite(db, path, file),
    };
    return wrapped(storage, {
      failed(error) {
        throw health.explain(error);
      },
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Commits a small write. If the storage is failing, also commits and removes as much data as several payouts need,
 * because a small write may still succeed on a full disk.
 */
async function ping({ db, write }: Context, health: Health) {
  const fill = (bytes: number) => write(() => db.exec(`UPDATE server SET room = zeroblob(${bytes}) WHERE id = 1`));
  await fill(0);
  if (!health.failing) return;
  await fill(262_144);
  await fill(0);
  if (health.failing)
    throw new ServiceError("unavailable", "The server's storage failed a moment ago.", { retryAfterSeconds: 5 });
}
