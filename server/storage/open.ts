import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { AskedMode } from "../domain/keys.ts";
import { copyToPostgres, type Copied } from "./copy/copy.ts";
import type { Migrated, Schema } from "./migrations.ts";
import { modeAfterRestore, type FoundMode } from "./mode.ts";
import { checkPostgres, postgresStatus, dumpAdvice, restoreAdvice } from "./postgres/tools.ts";
import { withConnection } from "./postgres/connections.ts";
import { postgresMode, type DurabilityOptions } from "./postgres/preconditions.ts";
import { openPostgres } from "./postgres/index.ts";
import { migratePostgres, schemaOf as postgresSchema } from "./postgres/migrate.ts";
import { backupUnused } from "./sqlite/backup.ts";
import { connectToServer } from "./socket.ts";
import { FileInUse, MEMORY } from "./sqlite/database.ts";
import { checkSqlite, type Checked } from "./sqlite/check.ts";
import { openSqlite, type SqliteStorage } from "./sqlite/index.ts";
import { migrateSqlite, sqliteSchema } from "./sqlite/migrate.ts";
import { sqliteMode, sqliteStatus } from "./sqlite/status.ts";
import { restoreSqlite, type Restored, type RestoreOptions } from "./sqlite/restore.ts";
import type { DatabaseStatus } from "./status.ts";
import { StorageError, StorageAway } from "./storage-error.ts";

interface OpenOptions extends DurabilityOptions {
  clock: Clock;
  emit?: Emit;
  secretKeys?: readonly Buffer[];
}

/** Where a database is. The URL of a PostgreSQL database may contain a password. */
export type DatabaseAddress = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

/** How long to wait for a file that another program uses: a server that is starting, or a command. */
const WAIT_MS = 2_000;
const RETRY_EVERY_MS = 50;

/** Resolves with what a running server of a SQLite file offers, or else with the file. @throws StorageError */
async function reach<T>(ofServer: () => Promise<T | undefined>, ofFile: () => T | Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += RETRY_EVERY_MS) {
    const found = await ofServer();
    if (found !== undefined) return found;
    try {
      return await ofFile();
    } catch (error) {
      if (!(error instanceof FileInUse) || waited >= WAIT_MS) throw error;
    }
    await sleep(RETRY_EVERY_MS);
  }
}

/** Asks the running server of a SQLite file for something. Undefined without a server. */
async function askServer<T>(path: string, ask: (server: SqliteStorage) => Promise<T>): Promise<T | undefined> {
  const server = await connectToServer(path);
  return server && ask(server).finally(() => server.close());
}

/**
 * Opens the storage that DATABASE_URL names. If a server uses a SQLite file, a command gets the storage of that server,
 * because only one program can open the file.
 * @param options.server true if a server opens it; only one server may use a SQLite file, any number a PostgreSQL database
 * @param options.mode the mode that SANDBOX asks for; the first server's mode is stored, and a server in the other mode
 * is refused (D80)
 * @param options.secretKeys the keys of the webhook secrets: the first key encrypts, and all keys decrypt (D12). A
 * command that uses the storage of a running server gets decrypted secrets
 * @throws StorageError whose message says what to do
 */
export async function openStorage(
  database: DatabaseAddress,
  options: OpenOptions & ({ server: true; mode: AskedMode } | { server: false }),
): Promise<Storage> {
  if (database.kind === "postgres") return openPostgres(database.url, options);
  const { path } = database;
  const asksServer = !options.server && path !== MEMORY;
  return reach(
    async () => (asksServer ? connectToServer(path) : undefined),
    () => openSqlite(path, options),
  );
}

/** Reads the mode of a database without changing it. @throws StorageError */
export async function readMode(database: DatabaseAddress): Promise<FoundMode> {
  if (database.kind === "postgres") return withConnection(database.url, postgresMode);
  const { path } = database;
  return reach(
    () => askServer(path, (server) => server.readMode()),
    () => sqliteMode(path),
  );
}

/** Returns the version of a database's schema without changing it. @throws StorageError */
export async function readSchema(database: DatabaseAddress): Promise<Schema> {
  return database.kind === "postgres" ? withConnection(database.url, postgresSchema) : sqliteSchema(database.path);
}

/**
 * Applies the migrations that a database lacks.
 * @throws StorageError if it cannot be opened, or if it is a SQLite file that a server uses
 */
export async function migrateStorage(database: DatabaseAddress): Promise<Migrated> {
  return database.kind === "postgres" ? migratePostgres(database.url) : migrateSqlite(database.path);
}

/** Reads a database's status for an operator. @throws StorageError */
export async function readStatus(database: DatabaseAddress, now: number): Promise<DatabaseStatus> {
  if (database.kind === "postgres") return postgresStatus(database.url);
  const { path } = database;
  return reach(
    () => askServer(path, (server) => server.readStatus()),
    () => sqliteStatus(path, now),
  );
}

/**
 * Writes a copy of the database into a new file, also while a server writes to it. The copy contains every commit from
 * before the call.
 * @throws StorageError if the file exists or cannot be written, or if the database is not SQLite
 */
export async function backupStorage(database: DatabaseAddress, file: string): Promise<void> {
  if (database.kind === "postgres") throw new StorageError(dumpAdvice(database.url));
  const { path } = database;
  await reach(
    () => askServer(path, async (server) => (await server.backup(resolve(file)), true)),
    async () => (await backupUnused(path, file), true),
  );
}

/**
 * Checks all of a SQLite database, or the books of a PostgreSQL database.
 * @throws StorageError if it cannot be opened, or if it is a SQLite file that a server uses
 */
export async function checkStorage(database: DatabaseAddress): Promise<Checked> {
  if (database.kind === "postgres") return checkPostgres(database.url);
  const { path } = database;
  const server = await connectToServer(path);
  if (!server) return checkSqlite(path);
  await server.close();
  throw new StorageError(
    `A server is using ${path}. Write a copy with \`db backup FILE\`, and check the copy with DATABASE_URL=sqlite:FILE.`,
  );
}

/**
 * Puts a copy of a backup in the place of the database.
 * @throws StorageError whose message says what to do; nothing was changed then
 */
export async function restoreStorage(
  database: DatabaseAddress,
  file: string,
  { mode, ...options }: Omit<RestoreOptions, "mode"> & { mode: AskedMode },
): Promise<Restored> {
  if (database.kind === "postgres") throw new StorageError(restoreAdvice(database.url, file));
  const [backup, target] = [file, database.path].map((path) => sqliteMode(path));
  const kept = modeAfterRestore(backup!, target!, mode);
  return restoreSqlite(database.path, file, { ...options, ...(kept && { mode: kept }) });
}

/**
 * Copies a SQLite database into an empty PostgreSQL database.
 * @param destination the URL of the PostgreSQL database
 * @throws StorageError whose message says what to do; nothing was copied then
 */
export async function copyStorage(database: DatabaseAddress, destination: string): Promise<Copied> {
  if (database.kind === "sqlite") return copyToPostgres(database.path, destination);
  throw new StorageError(
    "db copy copies a SQLite database, but DATABASE_URL is one of PostgreSQL. Copy that with pg_dump and pg_restore.",
  );
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

interface Waiting {
  sleep(milliseconds: number): Promise<void>;
  /** Called before each pause. */
  onPause(error: StorageAway, milliseconds: number): void;
}

/** Opens a storage, and waits without limit while the storage is unavailable. Any other error ends the waiting. */
export async function whenAvailable<T>(open: () => Promise<T>, { sleep: wait, onPause }: Waiting): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StorageAway)) throw error;
      onPause(error, pause);
      await wait(pause);
    }
  }
}
