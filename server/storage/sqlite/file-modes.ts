import { chmodSync, closeSync, constants, mkdirSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StorageError } from "../storage-error.ts";

const { O_CREAT, O_EXCL, O_RDWR } = constants;
const OWNER_ONLY = 0o600;

/**
 * Creates an empty file and its folder, unless they exist. The database holds webhook secrets, so only its owner may
 * read it; SQLite gives the files beside it the same mode.
 */
export function createPrivately(path: string): void {
  mkdirSync(dirname(resolve(path)), { recursive: true, mode: 0o700 });
  if (statSync(path, { throwIfNoEntry: false })) return;
  try {
    // O_EXCL also refuses a symbolic link to a missing file, which another user may have put here.
    closeSync(openSync(path, O_CREAT | O_EXCL | O_RDWR, OWNER_ONLY));
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
    // Another process may have created the file in the meantime.
    if (statSync(path, { throwIfNoEntry: false })) return;
    throw new StorageError(`${path} is a symbolic link to a file that does not exist. Remove it.`, { cause: error });
  }
}

/**
 * Takes the access of other users to a database, and to the files beside it, away.
 * @throws StorageError if this process may not do that
 */
export function keepPrivate(path: string): void {
  // Windows has no such modes.
  if (process.platform === "win32") return;
  const file = realpathSync(path);
  for (const each of [file, `${file}-wal`]) {
    const mode = statSync(each, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) === 0) continue;
    try {
      chmodSync(each, mode & 0o700);
    } catch (error) {
      // SQLite deletes the log when its user closes the database.
      if (isCode(error, "ENOENT")) continue;
      throw new StorageError(
        `Other users of this machine have access to ${each}, which holds secrets. As its owner, run: chmod 600 ${each}`,
        { cause: error },
      );
    }
  }
}

const isCode = (error: unknown, code: string) => (error as NodeJS.ErrnoException).code === code;
