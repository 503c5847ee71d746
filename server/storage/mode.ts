import type { AskedMode, Mode } from "../domain/keys.ts";
import { run, type Work } from "./portable/query.ts";
import { StorageError } from "./storage-error.ts";

/** The mode that a database stores (D80). Empty for a database without merchants. */
export interface FoundMode {
  mode?: Mode;
  /** True if a command has made merchants before the first server, which decides the mode. */
  undecided?: boolean;
}

/** The statement that reads the mode from a database that has the tables, whose row `toMode` converts. */
export const MODE = "SELECT (SELECT name FROM mode) AS mode, EXISTS (SELECT 1 FROM merchants) AS used";

export function toMode({ mode, used }: Readonly<Record<string, unknown>>): FoundMode {
  if (mode !== null) return { mode: mode as Mode };
  return used ? { undecided: true } : {};
}

/**
 * Stores the mode of a database that has none. Of processes that start at the same time, one stores its mode.
 * @throws StorageError if the database has the other mode
 */
export function* claimMode(mode: Mode): Work<void> {
  yield* run("INSERT INTO mode (id, name) VALUES (1, :mode) ON CONFLICT DO NOTHING", { mode });
  const [row] = (yield* run(MODE)).rows;
  modeOfServer(toMode(row!), mode);
}

const OTHER_DATABASE = "or set DATABASE_URL to another database. Nothing was changed.";

/**
 * Returns the mode in which a server uses a database.
 * @throws StorageError if the database has the other mode, or nothing shows its mode
 */
export function modeOfServer(found: FoundMode, asked: AskedMode): Mode {
  requireNoOther(found, asked);
  if (asked !== "unset") return asked;
  if (found.mode === "live") {
    throw new StorageError(
      `The database belongs to a live service, and SANDBOX is not set, which starts a sandbox. Set SANDBOX=false, ${OTHER_DATABASE}`,
    );
  }
  if (found.undecided) {
    throw new StorageError(
      "The database has merchants, and no server has stored whether it belongs to a sandbox or to a live service. " +
        `Set SANDBOX=true or SANDBOX=false, which is stored for ever, ${OTHER_DATABASE}`,
    );
  }
  return "sandbox";
}

/** @throws StorageError if the database has another mode than SANDBOX asks for */
export function requireNoOther({ mode }: FoundMode, asked: AskedMode): void {
  if (asked === "unset" || mode === undefined || mode === asked) return;
  if (mode === "live") {
    throw new StorageError(
      "The database belongs to a live service, and SANDBOX=true asks for a sandbox, which could delete its records. " +
        `Set SANDBOX=false, ${OTHER_DATABASE}`,
    );
  }
  throw new StorageError(
    "The database belongs to a sandbox, and SANDBOX=false asks for a live service. A live service needs a " +
      `database of its own. Set SANDBOX=true, ${OTHER_DATABASE}`,
  );
}

/**
 * Returns the mode of a database after a backup has been put in its place; undefined if nothing shows it.
 * @throws StorageError if the backup may not be put there
 */
export function modeAfterRestore(backup: FoundMode, target: FoundMode, asked: AskedMode): Mode | undefined {
  const wanted = target.mode ?? (asked === "unset" ? undefined : asked);
  if (wanted === undefined || backup.mode === undefined || backup.mode === wanted) return wanted ?? backup.mode;
  const says = target.mode === undefined ? `SANDBOX=${wanted === "sandbox"} asks for` : "the database belongs to";
  throw new StorageError(
    `The backup belongs to ${named(backup.mode)}, but ${says} ${named(wanted)}. Name another backup, ${OTHER_DATABASE}`,
  );
}

const named = (mode: Mode) => (mode === "live" ? "a live service" : "a sandbox");
