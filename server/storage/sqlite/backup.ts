import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";
import { createWhole } from "./whole-file.ts";

/**
 * Copies a database into a new file that only its owner may read. Making the copy is a single read transaction, so a
 * server can write meanwhile. The file appears when the copy is complete; a failed backup leaves nothing behind.
 * @throws StorageError if the file exists or cannot be written, or the database cannot be read
 */
export function backupSqlite(path: string, file: string): void {
  try {
    createWhole(file, (partial) => copyInto(path, partial));
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`The backup of ${path} to ${file} failed: ${(error as Error).message}.`, { cause: error });
  }
}

function copyInto(path: string, file: string): void {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) throw new Error("the database is empty");
    db.prepare("VACUUM INTO ?").run(file);
  } finally {
    db.close();
  }
}
