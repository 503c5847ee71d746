import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";

/**
 * Copies a database into a new file that only its owner may read. The copy is one read transaction, so a server can
 * write meanwhile.
 * @throws StorageError if the file exists or cannot be written
 */
export function backupSqlite(path: string, file: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx+", 0o600);
  } catch (error) {
    throw new StorageError(`Cannot create ${file}: ${(error as Error).message}. Choose another file.`, {
      cause: error,
    });
  }
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    db.prepare("VACUUM INTO ?").run(file);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file);
    throw new StorageError(`The backup to ${file} failed: ${(error as Error).message}.`, { cause: error });
  } finally {
    db.close();
    closeSync(descriptor);
  }
}
