import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";

/** @throws StorageError if the file is damaged. Reads all of it. */
export function requireIntact(db: DatabaseSync, path: string): void {
  const found = String(db.prepare("PRAGMA integrity_check(1)").get()!.integrity_check);
  // The first line only names the database.
  if (found !== "ok") throw new StorageError(`${path} is damaged: ${found.split("\n").at(-1)}. Use an undamaged copy.`);
}
