import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Storage } from "../domain/storage.ts";
import { copyToPostgres } from "./copy.ts";
import { requireMode, type Asked, type OpenOptions } from "./mode.ts";
import { withConnection } from "./postgres/connections.ts";
import { openPostgres } from "./postgres/index.ts";
import { migrate } from "./postgres/migrate.ts";
import { checkPostgres, DUMP, postgresStatus, RESTORE } from "./postgres/tools.ts";
import { connectToServer } from "./socket.ts";
import { backupUnused, restoreSqlite, type RestoreOptions } from "./sqlite/backup.ts";
import { FileInUse, migrateSqlite } from "./sqlite/database.ts";
import { openSqlite, type SqliteStorage } from "./sqlite/index.ts";
import { checkSqlite, sqliteStatus } from "./sqlite/tools.ts";
import { StorageAway, StorageError } from "./storage-error.ts";

/** Where a database is. The URL of a PostgreSQL database may contain a password. */
export type DatabaseAddress = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

/** How long to wait for a file that another program uses: a server that is starting, or a command. */
const WAIT_MS = 2_000;
const RETRY_EVERY_MS = 50;

/**
 * Resolves with the result of `work`, which gets the storage of the running server of a SQLite file, or undefined if it has
 * to use the file. @throws StorageError
 */
async function reach<T>(
  path: string,
  work: (server: SqliteStorage | undefined) => T | Promise<T>,
  asksServer = true,
): Promise<T> {
  for (let waited = 0; ; waited += RETRY_EVERY_MS) {
    try {
      return await work(asksServer ? await connectToServer(path) : undefined);
    } catch (error) {
      if (!(error instanceof FileInUse) || waited >= WAIT_MS) throw error;
    }
    await sleep(RETRY_EVERY_MS);
  }
}

/**
 * Opens the storage that DATABASE_URL names. If a server uses a SQLite file, a command gets the storage of that server,
 * because only one program can open the file; the webhook secrets are then decrypted.
 * @throws StorageError whose message says what to do
 */
export async function openStorage(database: DatabaseAddress, options: OpenOptions): Promise<Storage> {
  if (database.kind === "postgres") return openPostgres(database.url, options);
  const { path } = database;
  if (options.server) return reach<Storage>(path, () => openSqlite(path, options), false);
  return reach<Storage>(path, async (server) => {
    if (server && options.mode) requireMode(await server.readMode(), options.mode, options);
    return server ?? openSqlite(path, options);
  });
}

/** A database as a whole, for an operator. Each operation throws a StorageError whose message says what to do. */
export type Database = ReturnType<typeof sqliteAt>;

export const databaseAt = (address: DatabaseAddress): Database =>
  address.kind === "postgres" ? postgresAt(address.url) : sqliteAt(address.path);

const sqliteAt = (path: string) => ({
  /** Reads the status, also while a server uses the database, and changes nothing. */
  readStatus: () => reach(path, (server) => server?.readStatus() ?? sqliteStatus(path)),
  /** Applies the missing migrations. A SQLite file that a server uses is refused. */
  migrate: async (asked: Asked) => migrateSqlite(path, asked),
  /** Checks all of a SQLite file that no server uses, or the books of a PostgreSQL database. */
  check: async () => checkSqlite(path),
  /** Writes a copy with every commit from before the call into a new file, also while a server writes. */
  backup: (file: string) => reach(path, (server) => server?.backup(resolve(file)) ?? backupUnused(path, file)),
  /** Puts a copy of a backup in the place of the database. After an error nothing was changed. */
  restore: async (file: string, options: RestoreOptions) => restoreSqlite(path, file, options),
  /** Copies a SQLite database into an empty PostgreSQL database. After an error nothing was copied. */
  copyTo: (url: string) => copyToPostgres(path, url),
});

const advises = (text: string) => () => Promise.reject(new StorageError(text));

const postgresAt = (url: string): Database => ({
  readStatus: () => postgresStatus(url),
  migrate: (asked) => withConnection(url, (client) => migrate(client, asked)),
  check: () => checkPostgres(url),
  backup: advises(DUMP),
  restore: advises(RESTORE),
  copyTo: advises(
    "db copy copies a SQLite database, but DATABASE_URL is one of PostgreSQL. Copy that with pg_dump and pg_restore.",
  ),
});

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
