import { closeSync, fdatasync, openSync, realpathSync } from "node:fs";
import { promisify } from "node:util";

const flush = promisify(fdatasync);

export interface LogFile {
  /** Flushes the log to disk, in a thread of its own. */
  flush(): Promise<void>;
  close(): void;
}

/**
 * Opens the write-ahead log of a database that is open. SQLite with `synchronous = NORMAL` writes a commit to this file
 * and flushes the file only before a checkpoint; one more flush makes the commit survive a power failure.
 */
export function openLog(path: string): LogFile {
  const file = openSync(`${realpathSync(path)}-wal`, "r+");
  return { flush: () => flush(file), close: () => closeSync(file) };
}
