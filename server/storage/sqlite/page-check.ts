import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";
import { MEMORY } from "./database.ts";

/** Up to this size, a check takes less time than to start another process for the check. */
const SMALL_BYTES = 64 * 1024 * 1024;
/** The longest that a start waits for the check of a large file. */
const LIMIT_MS = 10_000;

interface Options {
  /** Reports that the time was too short to check all pages. */
  warn?(message: string): void;
  smallBytes?: number;
  limitMs?: number;
}

/**
 * Checks the structure of all pages of a database when a server starts: a file that was copied over a running server's
 * file must not be used for payments. Another process checks a large file, and is ended when the time is over.
 * @throws StorageError if a page is damaged
 */
export function checkPages(db: DatabaseSync, path: string, options: Options = {}): void {
  if (path === MEMORY) return;
  const { warn, smallBytes = SMALL_BYTES, limitMs = LIMIT_MS } = options;
  const isSmall = statSync(path).size <= smallBytes;
  const found = isSmall ? String(db.prepare(QUICK_CHECK).get()!.quick_check) : checkApart(path, limitMs);
  if (found === "ok") return;
  if (found === undefined) {
    warn?.(
      `only a part of the database's pages was checked, because the start waits for at most ${limitMs / 1_000} s; run ` +
        "`db check` beside the server to check all",
    );
    return;
  }
  throw new StorageError(
    `${path} is damaged: ${found.split("\n").at(-1)}. Run \`db check\` to see all that is damaged, then put a backup in ` +
      "its place with `db restore FILE --replace`.",
  );
}

const QUICK_CHECK = "PRAGMA quick_check(1)";
const SCRIPT = `import { DatabaseSync } from "node:sqlite";
const db = new DatabaseSync(process.argv[1], { readOnly: true, timeout: 5000 });
process.stdout.write(String(db.prepare("${QUICK_CHECK}").get().quick_check));`;

/**
 * Returns the findings of a process, or undefined if it did not end in time. SQLite cannot be interrupted in this
 * process.
 */
function checkApart(path: string, limitMs: number): string | undefined {
  const args = [...process.execArgv, "--input-type=module", "--eval", SCRIPT, path];
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    timeout: limitMs,
    killSignal: "SIGKILL",
    encoding: "utf8",
  });
  if (status === 0) return stdout;
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT") return undefined;
  return error?.message ?? /Error: (.+)/.exec(stderr)?.[1] ?? "the check of its pages failed";
}
