import type { Storage } from "../../domain/storage.ts";
import type { SecretHash } from "../../domain/keys.ts";
import type { KeyOwner } from "../../domain/merchants.ts";
import { silent } from "../../domain/telemetry.ts";
import { correction } from "../future-times.ts";
import { createGuard } from "../guard.ts";
import type { OpenOptions } from "../mode.ts";
import { DELIVERIES } from "../portable/delivery-queue.ts";
import { HANDOVERS } from "../portable/handovers.ts";
import { portableStorage } from "../portable/index.ts";
import { sealStoredSecrets } from "../portable/merchants.ts";
import { run } from "../portable/query.ts";
import { memoryRates } from "../request-rates.ts";
import { createSealing } from "../sealing.ts";
import type { DatabaseStatus } from "../status.ts";
import { backupSqlite } from "./backup.ts";
import { explained, MEMORY, migrate, migrateMemory, openDatabase, watchNames } from "./database.ts";
import { sqliteExecutor } from "./executor.ts";
import { createHealth } from "./health.ts";
import { runNow, statementRunner } from "./statements.ts";
import { statusOf } from "./tools.ts";

/** The storage in a SQLite file, and what an operator does with the file while a server has it open. */
export interface SqliteStorage extends Storage {
  readStatus(): Promise<DatabaseStatus>;
  /** Writes a copy into a new file. @throws StorageError if the file exists or cannot be written */
  backup(file: string): Promise<void>;
}

const fill = (bytes: number) => run("UPDATE server SET room = zeroblob(:bytes) WHERE id = 1", { bytes });

/** How often a server looks at its clock, at the names of its files, and at a disk that has failed. */
const LOOK_EVERY_MS = 1_000;
/**
 * Opens a SQLite file (or `:memory:`), creating or migrating its schema.
 * @throws StorageError if another program uses the file, it has a newer schema, or it cannot be opened
 */
export function openSqlite(path: string, options: OpenOptions): SqliteStorage {
  return explained(path, () => open(path, options));
}

function open(path: string, options: OpenOptions): SqliteStorage {
  const { clock, server, emit = silent, secretKeys } = options;
  const db = openDatabase(path);
  try {
    if (path === MEMORY) migrateMemory(db);
    migrate(db, options);
    const times = { now: () => clock.now(), leased: () => Math.floor(clock.monotonic()) };
    // The process that held these claims has ended. Leases and doubt are measured with the counter of this process.
    for (const { name } of [DELIVERIES, HANDOVERS])
      db.exec(`UPDATE ${name} SET leased_until = 0 WHERE leased_until > 0`);
    db.exec(
      `UPDATE handovers SET asked_leased = ${times.leased()} WHERE state <> 'closed' AND asked_leased IS NOT NULL`,
    );

    /** The owners of keys, which every request needs. */
    const owners = new Map<SecretHash, KeyOwner>();
    const sealing = createSealing(secretKeys);
    const execute = statementRunner(db, times, () => owners.clear());
    db.exec("BEGIN");
    runNow(execute, sealStoredSecrets(sealing, { replace: server }));
    db.exec("COMMIT");
    const health = createHealth(emit);
    const guard = createGuard(health.explain);
    const executor = guard.guarded(sqliteExecutor(db, execute, health, { sealing, emit }));
    const portable = portableStorage(executor);
    const correct = correction(executor, clock);
    const haveNames = watchNames(path);
    /** Commits a small write; after a failure, also as much data as several payouts need, and removes it. */
    async function probe() {
      await executor.write(() => fill(0));
      if (!health.failing) return;
      await executor.write(() => fill(262_144));
      await executor.write(() => fill(0));
      health.recovered();
    }
    async function look() {
      if (!haveNames()) health.moved();
      if (health.failing) await probe().catch(() => undefined);
      await correct();
    }
    const timer = server ? setInterval(look, LOOK_EVERY_MS).unref() : undefined;
    if (server) void correct();
    return {
      ...portable,
      async findMerchantByKey(hash) {
        const owner = owners.get(hash) ?? (await portable.findMerchantByKey(hash));
        // No transaction has run since the look-up: each needs a turn of the event loop of its own.
        if (owner) owners.set(hash, owner);
        return owner;
      },
      takeRequest: memoryRates(clock.monotonic),
      // Only one server may use the file.
      exclusively: (work) => work(),
      async ping() {
        await look();
        await probe();
      },
      async close() {
        if (!(await guard.close())) return;
        clearInterval(timer);
        db.close();
      },
      readStatus: async () => statusOf(db, path, true),
      backup: (file) => backupSqlite(db, path, file),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
