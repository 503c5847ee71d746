/** The reasons why the storage cannot record anything. */
export type Trouble = "read-only" | "damaged" | "full" | "unwritable" | "unflushed" | "moved";

/** SQLite's primary result codes, and the extended code of a write that the operating system refused. */
const [BUSY, READONLY, IOERR, CORRUPT, FULL, NOTADB, IOERR_WRITE] = [5, 8, 10, 11, 13, 26, 778];

/** Returns the trouble behind an error after which nothing was recorded; undefined for any other error. */
export function troubleOf(error: unknown): Trouble | undefined {
  const { code, errcode = 0 } = error as { code?: string; errcode?: number };
  if (code !== "ERR_SQLITE_ERROR") return undefined;
  if (errcode === IOERR_WRITE) return "unwritable";
  const byCode: Record<number, Trouble> = {
    [READONLY!]: "read-only",
    [CORRUPT!]: "damaged",
    [NOTADB!]: "damaged",
    [FULL!]: "full",
  };
  return byCode[errcode & 0xff];
}

/** SQLite's extended codes of a flush that failed. What the operating system has written since the last flush may be lost. */
const FLUSHES = new Set([1_034, 1_290]);

/** True if a flush failed, so that nobody knows what is on the disk. */
export const isFlush = (error: unknown): boolean => FLUSHES.has((error as { errcode?: number }).errcode ?? 0);

/** True if another connection has the file. */
export const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === BUSY;

const DISK = "Its disk may be full, read-only or broken: free space or repair it, then start again.";

/** Returns the advice for an operator about a database that cannot be opened. */
export function adviceOf(error: unknown): string {
  const { errcode = 0 } = error as { errcode?: number };
  if ((errcode & 0xff) === CORRUPT) return "The file is damaged: restore it from a backup.";
  return [IOERR, FULL].includes(errcode & 0xff) ? DISK : "Check DATABASE_URL.";
}
