import type { AskedMode, Mode } from "../domain/mode.ts";
import { StorageError } from "./storage-error.ts";

/** The mode of a database, as far as its content shows it (D80). Empty for a database without merchants. */
export interface FoundMode {
  /** The stored mode, or `sandbox` because of rows that only a sandbox writes. */
  mode?: Mode;
  /** What the rows of a sandbox show, as text. */
  proof?: string;
  /** True if the database has merchants but nothing shows its mode. */
  undecided?: boolean;
}

/** Rows that only a sandbox writes. Earlier versions stored no mode, and their databases may lack a column. */
const PROOFS = [
  { column: "merchants.clock_offset", where: "clock_offset <> 0", proof: "the clock of a merchant was moved" },
  { column: "merchants.epoch", where: "epoch <> 0", proof: "a merchant was reset" },
  { column: "merchants.chaos", where: "chaos IS NOT NULL", proof: "a merchant has chaos switched on" },
  { column: "refusals.merchant_id", where: "true", proof: "a phone number forced a refusal" },
  { column: "disbursements.created_at", where: "created_at > :future", proof: "payouts are dated in the future" },
  { column: "checkouts.created_at", where: "created_at > :future", proof: "checkouts are dated in the future" },
  { column: "disbursements.status", where: "status = 'failed'", proof: "a phone number forced a payout to fail" },
] as const;

/** A wall clock that is ahead by less than this proves nothing. */
const FUTURE_MS = 86_400_000;

/**
 * Returns the statement that reads the mode, whose row `toMode` converts. Undefined if there is nothing to read,
 * because the database is empty or belongs to another program.
 * @param columns the names of the database's columns, as TABLE.COLUMN
 * @param now real time
 */
export function modeQuery(columns: ReadonlySet<string>, now: number): string | undefined {
  if (!columns.has("merchants.id")) return undefined;
  const stored = columns.has("mode.name") ? "(SELECT name FROM mode)" : "NULL";
  const cases = PROOFS.filter(({ column }) => columns.has(column)).map(({ column, where, proof }) => {
    const condition = where.replace(":future", String(now + FUTURE_MS));
    return `WHEN EXISTS (SELECT 1 FROM ${column.split(".")[0]} WHERE ${condition}) THEN '${proof}'`;
  });
  // A search for proofs reads whole tables, so search only if no mode is stored.
  return `SELECT ${stored} AS mode, CASE WHEN ${stored} IS NOT NULL THEN NULL ${cases.join(" ")} END AS proof,
    EXISTS (SELECT 1 FROM merchants) AS used`;
}

export function toMode({ mode, proof, used }: Readonly<Record<string, unknown>>): FoundMode {
  if (mode !== null) return { mode: mode as Mode };
  if (proof !== null) return { mode: "sandbox", proof: proof as string };
  return used ? { undecided: true } : {};
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
      "The database has merchants, and no server of this version has stored whether it belongs to a sandbox or to a " +
        `live service. Set SANDBOX=true or SANDBOX=false, which is stored for ever, ${OTHER_DATABASE}`,
    );
  }
  return "sandbox";
}

/** @throws StorageError if the database has another mode than SANDBOX asks for */
export function requireNoOther({ mode, proof }: FoundMode, asked: AskedMode): void {
  if (asked === "unset" || mode === undefined || mode === asked) return;
  if (mode === "live") {
    throw new StorageError(
      "The database belongs to a live service, and SANDBOX=true asks for a sandbox, which could delete its records. " +
        `Set SANDBOX=false, ${OTHER_DATABASE}`,
    );
  }
  const reason = proof === undefined ? "" : ` (${proof})`;
  throw new StorageError(
    `The database belongs to a sandbox${reason}, and SANDBOX=false asks for a live service. A live service needs a ` +
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
