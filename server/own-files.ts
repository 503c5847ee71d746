import { readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import type { DatabaseAddress } from "./storage/open.ts";
import { dirname, resolve } from "node:path";

/** The file beside a SQLite database in which a running server notes its address, for commands of this machine. */
const fileOf = (database: DatabaseAddress): string | undefined =>
  database.kind === "sqlite" && database.path !== ":memory:" ? `${database.path}.address` : undefined;

/**
 * Returns the address of the server that runs on this database, or of a server that ended without removing the file;
 * undefined if there is no file.
 */
export function readAddress(database: DatabaseAddress): string | undefined {
  const file = fileOf(database);
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Notes a server's address. A server that cannot write the file runs without it. Returns a function that removes it. */
export function writeAddress(database: DatabaseAddress, url: string): () => void {
  const file = fileOf(database);
  if (file === undefined) return () => undefined;
  try {
    writeFileSync(file, `${url}\n`, { mode: 0o600 });
  } catch {
    return () => undefined;
  }
  return () => rmSync(file, { force: true });
}

/**
 * Writes a key into a file that only its owner may read, and returns the file's path. An existing file is replaced. A
 * symbolic link is replaced too and never followed, because another user may have put it there.
 * @param folder is created unless it exists
 */
export function writeFirstKey(folder: string, text: string): string {
  const file = resolve(folder, "first-api-key");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  writeFileSync(file, `${text}\n`, { mode: 0o600, flag: "wx" });
  return file;
}
