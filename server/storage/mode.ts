import type { Clock } from "../domain/clock.ts";
import type { AskedMode, Mode } from "../domain/keys.ts";
import type { Emit } from "../domain/telemetry.ts";
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
   * The mode that SANDBOX asks for. The mode of the first server or command is stored, and the other mode is refused (D80).
   * If absent, the mode is neither stored nor checked.
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

/** What a program asks of a database that it opens. Without `mode`, the mode is neither stored nor checked. */
export type Asked = Partial<Pick<OpenOptions, "mode" | "server">>;

const NAMES: Record<Mode, string> = { live: "a live service", sandbox: "a sandbox" };
const NOTHING_CHANGED = "or set DATABASE_URL to another database. Nothing was changed.";

/** The statement that reads the mode from a database that has the tables. */
export const MODE = "SELECT name FROM mode";
/** Stores the mode of a database that has none. */
export const storeMode = (mode: Mode) => `INSERT INTO mode (id, name) VALUES (1, '${mode}') ON CONFLICT DO NOTHING`;

/**
 * Returns the mode in which a server or a command uses a database (D80).
 * @param stored the mode of the database, if it has one
 * @throws StorageError if the database has the other mode
 */
export function requireMode(stored: Mode | undefined, asked: AskedMode, { server }: Asked): Mode {
  const mode = asked === "unset" ? (!server && stored) || "sandbox" : asked;
  if (stored === undefined || stored === mode) return mode;
  const says = asked === "unset" ? "SANDBOX is not set, which starts" : `SANDBOX=${mode === "sandbox"} asks for`;
  throw new StorageError(
    `The database belongs to ${NAMES[stored]}, and ${says} ${NAMES[mode]}. ` +
      `Set SANDBOX=${stored === "sandbox"}, ${NOTHING_CHANGED}`,
  );
}

/** @throws StorageError if a backup may not be put in the place of a database of this mode */
export function requireBackupOf(mode: Mode, backup: Mode | undefined): void {
  if (backup === undefined || backup === mode) return;
  throw new StorageError(
    `The backup belongs to ${NAMES[backup]}, but the database belongs to ${NAMES[mode]}. ` +
      `Name another backup, ${NOTHING_CHANGED}`,
  );
}
