import { ServiceError } from "../../domain/errors.ts";
import type { Emit } from "../../domain/telemetry.ts";

/** The reasons why the storage cannot record anything. */
type Trouble = "read-only" | "damaged" | "full" | "unwritable" | "unflushed" | "moved";

const MESSAGES: Record<Trouble, string> = {
  "read-only": "The server's database is read-only.",
  damaged: "The server's database is damaged.",
  full: "The server's storage is full.",
  unwritable: "The server's storage cannot be written. Its disk may be full, read-only or broken.",
  unflushed:
    "The disk has failed to store what the server's database wrote. Check the disk, then stop the server and start it " +
    "again.",
  moved:
    "A file of the server's database was deleted, moved or replaced. Save what the server has recorded with " +
    "`db backup FILE` before you stop the server, then use `db restore FILE`.",
};
/** Troubles that may persist although a later commit succeeds. */
const LASTING = new Set<Trouble>(["damaged", "unflushed", "moved"]);

const [BUSY, IOERR, CORRUPT, FULL] = [5, 10, 11, 13];
/** By SQLite's primary result code, or by the extended code of a write or a flush that the operating system refused. */
const BY_CODE: Readonly<Record<number, Trouble>> = {
  8: "read-only",
  11: "damaged",
  13: "full",
  26: "damaged",
  778: "unwritable",
  1034: "unflushed",
  1290: "unflushed",
};
const primary = (error: unknown) => ((error as { errcode?: number }).errcode ?? 0) & 0xff;

/** Returns the trouble behind an error of SQLite; undefined for any other error. */
export function troubleOf(error: unknown): Trouble | undefined {
  const { code, errcode = 0 } = error as { code?: string; errcode?: number };
  return code === "ERR_SQLITE_ERROR" ? (BY_CODE[errcode] ?? BY_CODE[primary(error)]) : undefined;
}

/** True if another connection has the file. */
export const isBusy = (error: unknown): boolean => primary(error) === BUSY;

const DISK = "Its disk may be full, read-only or broken: free space or repair it, then start again.";

/** Returns the advice for an operator about a database that cannot be opened. */
export function adviceOf(error: unknown): string {
  const code = primary(error);
  if (code === CORRUPT) return "The file is damaged: restore it from a backup.";
  return code === IOERR || code === FULL ? DISK : "Check DATABASE_URL.";
}

export type Health = ReturnType<typeof createHealth>;

/** Knows whether the storage works, from its commits and checkpoints. Reports each change once, and repairs nothing. */
export function createHealth(emit: Emit) {
  let trouble: Trouble | undefined;
  const isLasting = () => trouble !== undefined && LASTING.has(trouble);

  function fail(next: Trouble, error?: unknown) {
    // A later error must not hide a lasting trouble.
    if (trouble === next || isLasting()) return;
    trouble = next;
    emit("storage", { working: false, message: MESSAGES[next], error });
  }

  return {
    /** True while the storage does not work. */
    get failing() {
      return trouble !== undefined;
    },
    /** Runs before each transaction. @throws ServiceError while the trouble is a lasting one */
    require() {
      if (isLasting()) throw unavailable(trouble!);
    },
    /** A commit has succeeded that was large enough to prove that the disk has space. */
    recovered() {
      // No commit proves that damaged pages are readable again; only a restart with a repaired file does.
      if (trouble === undefined || isLasting()) return;
      trouble = undefined;
      emit("storage", { working: true, message: "The server's storage works again." });
    },
    /** What was committed before the checkpoint remains valid. */
    checkpointFailed: (error: unknown) => fail(troubleOf(error) ?? "unwritable", error),
    /** A file of the database has lost its name. */
    moved: () => fail("moved"),
    /**
     * Takes note of an error of the database, and returns the error for the caller. After a flush that failed it is
     * unknown what was recorded, so that this error stays as it is.
     */
    explain(error: unknown): unknown {
      const found = troubleOf(error);
      if (found === undefined) return error;
      fail(found, error);
      return found === "unflushed" ? error : unavailable(trouble!);
    },
  };
}

const unavailable = (why: Trouble) => new ServiceError("unavailable", MESSAGES[why], { retryAfterSeconds: 5 });
