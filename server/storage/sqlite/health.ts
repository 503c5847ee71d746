import { statSync } from "node:fs";
import { ServiceError } from "../../domain/errors.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { MEMORY } from "./database.ts";
import { troubleOf, type Trouble } from "./sqlite-errors.ts";

const MESSAGES: Record<Trouble, string> = {
  busy: "Another program is using the server's database. Nothing was recorded.",
  "read-only": "The server's database is read-only. Nothing was recorded.",
  damaged: "The server's database is damaged. Nothing was recorded.",
  full: "The server's storage is full. Nothing was recorded.",
  unwritable:
    "The server's storage cannot be written. Its disk may be full, read-only or broken. Nothing was recorded.",
  moved: "The server's database file was deleted or replaced. Nothing was recorded.",
};
const RETRY_AFTER_SECONDS = 5;
/** A disk that could not be written counts as usable again after a commit that follows this long without a failure. */
const RECOVERED_AFTER_MS = 2_000;

export interface Health {
  /** True while the storage does not work. */
  readonly failing: boolean;
  /** Throws if the storage cannot be used because of something that a later commit cannot disprove. */
  require(): void;
  /** Called after each commit. @throws Error if the file had been deleted or replaced, so that the commit is lost */
  committed(): void;
  /** Converts an error of the database into one that says what is wrong; returns any other error as it is. */
  explain(error: unknown): unknown;
  close(): void;
}

/**
 * Watches whether the storage works: whether commits succeed, and whether the database file is still the one that was
 * opened. Reports each change once.
 */
export function watchHealth(path: string, now: () => number, emit: Emit): Health {
  const files = path === MEMORY ? [] : [path, `${path}-wal`].map(watchedFile);
  let trouble: Trouble | undefined;
  let failedAt = 0;

  function fail(next: Trouble, error?: unknown) {
    failedAt = now();
    if (trouble === next) return;
    trouble = next;
    emit("storage", { working: false, message: MESSAGES[next], error });
  }

  function isMoved(): boolean {
    if (trouble !== "moved" && files.some((changed) => changed())) fail("moved");
    return trouble === "moved";
  }

  const timer = setInterval(isMoved, 1_000).unref();
  return {
    get failing() {
      return trouble !== undefined;
    },
    require() {
      if (isMoved()) throw unavailable("moved");
    },
    committed() {
      if (isMoved()) throw new Error("the database file was deleted or replaced during a commit");
      // A commit does not prove that damaged pages are readable again; only a restart with a repaired file does.
      if (trouble === undefined || trouble === "damaged") return;
      // A small commit may succeed on a disk that is too full for a payout.
      if ((trouble === "full" || trouble === "unwritable") && now() - failedAt < RECOVERED_AFTER_MS) return;
      trouble = undefined;
      emit("storage", { working: true, message: "The server's storage works again." });
    },
    explain(error) {
      const found = troubleOf(error);
      if (found === undefined) return error;
      fail(found, error);
      return unavailable(found);
    },
    close: () => clearInterval(timer),
  };
}

const unavailable = (why: Trouble) =>
  new ServiceError("unavailable", MESSAGES[why], { retryAfterSeconds: RETRY_AFTER_SECONDS });

/** Returns a function that tells whether a file is no longer the one at which its path pointed at first. */
function watchedFile(path: string): () => boolean {
  const identity = () => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  };
  let first: string | undefined;
  return () => {
    const now = identity();
    first ??= now;
    return first !== now;
  };
}
