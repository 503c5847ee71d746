import type { Clock } from "../domain/clock.ts";
import type { AskedMode, Mode } from "../domain/keys.ts";
import type { Emit } from "../domain/telemetry.ts";
import { run, type Work } from "./portable/query.ts";
import { sealStoredSecrets } from "./portable/merchants.ts";
import type { Sealing } from "./sealing.ts";
import { StorageError } from "./storage-error.ts";

/** How a storage is opened. */
export interface OpenOptions {
  clock: Clock;
  /**
   * True for a server, which finishes the interrupted work of earlier servers; false for a command. Only one server may
   * use a SQLite file, any number a PostgreSQL database.
   */
  server: boolean;
  /**
   * The mode that SANDBOX asks for. The first server's mode is stored, and a server in the other mode is refused (D80). If
   * absent, the mode is not checked.
   */
  mode?: AskedMode;
  /** Reports commits, settled records, and when the storage stops or starts working. */
  emit?: Emit;
  /**
   * The keys of the webhook secrets: the first encrypts, and all decrypt (D12). Without keys, secrets are stored as they
   * are.
   */
  secretKeys?: readonly Buffer[];
}

/**
 * What a process does first in a database that has its schema: stores the mode of a server, unless the database has one,
 * and encrypts the stored secrets as the keys demand. If several start at once, only one stores its mode.
 * @throws StorageError if the database has the other mode, or a secret needs a key that is missing
 */
export function* claim(mode: Mode | undefined, sealing: Sealing, options: Pick<OpenOptions, "server">): Work<void> {
  if (mode) {
    yield* run("INSERT INTO mode (id, name) VALUES (1, :mode) ON CONFLICT DO NOTHING", { mode });
    const [row] = (yield* run(MODE)).rows;
    modeOfServer(toMode(row!), mode);
  }
  yield* sealStoredSecrets(sealing, { replace: options.server });
}

/** The mode that a database stores (D80). Empty if it has neither a mode nor a merchant. */
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

const NAMES: Record<Mode, string> = { live: "a live service", sandbox: "a sandbox" };
const OTHER_DATABASE = "or set DATABASE_URL to another database. Nothing was changed.";

/**
 * Returns the mode in which a server uses a database.
 * @throws StorageError if the database has the other mode, or nothing shows its mode
 */
export function modeOfServer(found: FoundMode, asked: AskedMode): Mode {
  const mode = asked === "unset" ? "sandbox" : asked;
  if (found.mode !== undefined && found.mode !== mode) {
    const says = asked === "unset" ? "SANDBOX is not set, which starts" : `SANDBOX=${mode === "sandbox"} asks for`;
    throw new StorageError(
      `The database belongs to ${NAMES[found.mode]}, and ${says} ${NAMES[mode]}. ` +
        `Set SANDBOX=${found.mode === "sandbox"}, ${OTHER_DATABASE}`,
    );
  }
  if (found.undecided && asked === "unset") {
    throw new StorageError(
      "The database has merchants, and no server has stored whether it belongs to a sandbox or to a live service. " +
        `Set SANDBOX=true or SANDBOX=false, which is stored for ever, ${OTHER_DATABASE}`,
    );
  }
  return mode;
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
    `The backup belongs to ${NAMES[backup.mode]}, but ${says} ${NAMES[wanted]}. Name another backup, ${OTHER_DATABASE}`,
  );
}
