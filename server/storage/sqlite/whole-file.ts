import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StorageError } from "../storage-error.ts";

/**
 * Creates a file that appears under its name only when it is complete and flushed to disk. Nothing remains of a failed
 * attempt, and an existing file is never replaced.
 * @param write fills the empty file at the given path, which only its owner may read
 * @throws StorageError if the file exists or cannot be created
 */
export async function createWhole(file: string, write: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(file)) throw cannotCreate(file, new Error("it exists"));
  const partial = `${file}.partial-${process.pid}`;
  let descriptor: number;
  try {
    descriptor = openSync(partial, "wx+", 0o600);
  } catch (error) {
    throw cannotCreate(file, error as Error);
  }
  try {
    await write(partial);
    fsyncSync(descriptor);
    publish(partial, file);
  } finally {
    closeSync(descriptor);
    rmSync(partial, { force: true });
    for (const end of ["-journal", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

/** The error codes of a file system without hard links, such as the file system of many USB sticks. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Gives a complete file its name. Unlike a rename, a link never replaces a file that was created meanwhile. */
function publish(partial: string, file: string): void {
  try {
    linkSync(partial, file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!NO_LINKS.has(code) || existsSync(file)) throw cannotCreate(file, error as Error);
    renameSync(partial, file);
  }
  flushFolder(dirname(resolve(file)));
}

/** Makes the new name of a file survive a power loss. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const cannotCreate = (file: string, error: Error) =>
  new StorageError(`Cannot create ${file}: ${error.message}. Choose another file.`, { cause: error });
