import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Writes a key into a file that only its owner may read, and returns the file's path. An existing file is replaced. A
 * symbolic link is replaced too and never followed, because another user may have put it there.
 * @param folder is created unless it exists
 */
export function writeFirstKey(folder: string, text: string): string {
  const file = resolve(folder, "first-api-key");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const partial = `${file}.${randomUUID()}`;
  try {
    writeFileSync(partial, `${text}\n`, { mode: 0o600, flag: "wx" });
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
  return file;
}
