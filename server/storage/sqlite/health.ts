import type { DatabaseSync } from "node:sqlite";
import { ServiceError } from "../../domain/errors.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { MEMORY } from "./database.ts";
import { watchFiles, type FileWatch, type Harm, type LogPages } from "./file-watch.ts";
import { isFlush, troubleOf, type Trouble } from "./sqlite-errors.ts";

const MESSAGES: Record<Trouble, string> = {
  busy: "Another program is using the server's database.",
  "read-only": "The server's database is read-only.",
  damaged: "The server's database is damaged.",
  full: "The server's storage is full.",
  unwritable: "The server's storage cannot be written. Its disk may be full, read-only or broken.",
  unflushed:
    "The disk has failed to store what the server's database wrote. Check the disk, then stop the server and start it " +
    "again.",
  moved:
    "The server's database file was deleted or replaced. Stop the server with SIGTERM, do not kill " +
    "it: it may hold what the files no longer have.",
  "index-moved":
    "The -shm file beside the server's database was deleted or replaced. Stop the server and start it again.",
  changed: "The server's database is damaged: another program changed its file.",
  "log-changed": "The server's database is damaged: another program changed its -wal file.",
};
/** Troubles that may persist although a later commit succeeds. */
const LASTING = new Set<Trouble>(["damaged", "unflushed", "moved", "index-moved", "changed", "log-changed"]);
/** Troubles in which the files must not be read. */
const UNREADABLE = new Set<Trouble>(["changed", "log-changed"]);
const RETRY_AFTER_SECONDS = 5;
/**
 * A disk that could not be written counts as usable again if there was no failure for this long, and then a commit
 * succeeds.
 */
const RECOVERED_AFTER_MS = 5_000;

export interface Health {
  /** True while the storage does not work. */
  readonly failing: boolean;
  /** Runs before each operation. @throws ServiceError if the content may be wrong */
  requireReadable(): void;
  /** Runs before each transaction. @throws ServiceError if a later commit cannot disprove what is wrong */
  require(): void;
  /** Runs after each commit. @throws Error if the commit may be lost: another program has changed the files, or a flush failed */
  committed(): void;
  /** Takes note of a checkpoint that failed. The commits before it count. */
  checkpointFailed(error: unknown): void;
  /** The write-ahead log after the last commit. */
  log(): LogPages;
  /** Converts an error of the database into an error that explains the trouble; returns any other error unchanged. */
  explain(error: unknown): unknown;
  /**
   * Ends the watch, then closes the database, unless closing would be harmful: when SQLite closes a database, it copies
   * the log into the file, which is wrong if another program has changed the log or the file.
   */
  close(db: DatabaseSync): void;
}

const NO_FILES: FileWatch = {
  look: () => undefined,
  log: () => ({ all: 0, uncopied: 0 }),
  close: () => undefined,
};
/** Databases that stay open until the process exits, so that the garbage collector does not close them. */
const abandoned: DatabaseSync[] = [];

/** True if a database stays open, which Node would close at the natural end of the process. */
export const leavesOpen = (): boolean => abandoned.length > 0;

/**
 * Watches whether the storage works: whether commits succeed, and whether the files are as SQLite left them. Reports each
 * change once, and repairs nothing.
 */
export function watchHealth(path: string, now: () => number, emit: Emit): Health {
  const files = path === MEMORY ? NO_FILES : watchFiles(path);
  let trouble: Trouble | undefined;
  let failedAt = 0;

  function fail(next: Trouble, error?: unknown) {
    failedAt = now();
    if (trouble === next) return;
    trouble = next;
    emit("storage", { working: false, message: MESSAGES[next], error });
  }

  function report(harm: Harm | undefined): Harm | undefined {
    if (harm) fail(harm);
    return harm;
  }

  const timer = setInterval(() => report(files.look()), 1_000).unref();
  return {
    get failing() {
      return trouble !== undefined;
    },
    requireReadable() {
      if (trouble && UNREADABLE.has(trouble)) throw unavailable(trouble);
    },
    require() {
      report(files.look());
      if (trouble && LASTING.has(trouble)) throw unavailable(trouble);
    },
    committed() {
      const harm = report(files.look());
      if (harm) throw new Error(`another program changed the files of the database during a commit (${harm})`);
      // A kernel may report the loss of written pages once. If a checkpoint got the report, this commit did not.
      if (trouble === "unflushed") throw new Error("the disk failed to store the log during a commit");
      // A commit does not prove that damaged pages are readable again; only a restart with a repaired file does.
      if (trouble === undefined || LASTING.has(trouble)) return;
      // A small commit may succeed on a disk that is too full for a payout.
      if ((trouble === "full" || trouble === "unwritable") && now() - failedAt < RECOVERED_AFTER_MS) return;
      trouble = undefined;
      emit("storage", { working: true, message: "The server's storage works again." });
    },
    checkpointFailed(error) {
      if (trouble && LASTING.has(trouble)) return;
      fail(isFlush(error) ? "unflushed" : (troubleOf(error) ?? "unwritable"), error);
    },
    log: files.log,
    explain(error) {
      // SQLite appends to its log. If an earlier page of it is lost, a crash loses what follows.
      if (isFlush(error) && !(trouble && LASTING.has(trouble))) fail("unflushed", error);
      const found = troubleOf(error);
      if (found === undefined) return error;
      // An error that follows from a change of the files must not hide it.
      if (!trouble || !LASTING.has(trouble)) fail(found, error);
      return unavailable(trouble && LASTING.has(trouble) ? trouble : found);
    },
    close(db) {
      clearInterval(timer);
      const harm = files.look();
      if (harm === undefined || harm === "moved") db.close();
      else abandoned.push(db);
      files.close();
    },
  };
}

const unavailable = (why: Trouble) =>
  new ServiceError("unavailable", MESSAGES[why], { retryAfterSeconds: RETRY_AFTER_SECONDS });
