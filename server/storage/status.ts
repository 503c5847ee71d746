import type { Mode } from "../domain/keys.ts";
import { fields } from "./rows.ts";

/** The status of a database, for an operator. Contains no secret. */
export interface DatabaseStatus {
  storage: "sqlite" | "postgres";
  /** Of SQLite: the file, and whether a server uses it. */
  file?: string;
  inUse?: boolean;
  /** Of PostgreSQL. */
  host?: string;
  port?: number;
  database?: string;
  serverVersion?: string;
  /**
   * The connections of this service to this database, the connections of all programs to the database server, and the
   * largest number that the server accepts.
   */
  connections?: { service: number; server: number; most: number };
  version: number;
  pendingMigrations: string[];
  bytes: number;
  /** Absent while migrations are pending. */
  work?: WaitingWork;
  /** Absent if no server has decided it. */
  mode: Mode | undefined;
}

/** What a check of a database found. */
export interface Checked {
  /** The damages; empty if there are none. At most about a hundred findings. */
  findings: string[];
  /** The number of pages; 0 if it cannot be read because of the damage; absent for PostgreSQL. */
  pages?: number;
}

/** The waiting work of all merchants. */
export interface WaitingWork {
  pendingPayouts: number;
  pendingCheckouts: number;
  pendingDeliveries: number;
  dueDeliveries: number;
  /** Deliveries that the server has given up. */
  failedDeliveries: number;
  /** When the oldest due delivery fell due, in real time. */
  oldestDueAt?: number;
}

/** Joins the merchants, because the indexes begin with the merchant. */
const count = (table: string, where: string) =>
  `SELECT count(*) FROM merchants m JOIN ${table} r ON r.merchant_id = m.id WHERE ${where}`;

/**
 * Returns the statement that reads the work, whose row `toWork` converts.
 * @param now real time
 */
export function workQuery({ yes, no, now }: Record<"yes" | "no" | "now", string>): string {
  // Each of these conditions has an index.
  const due = [`ready = ${yes}`, `next_attempt_at <= ${now} AND ready = ${no} AND leased_until IS NULL`].map(
    (where) => `SELECT next_attempt_at AS due FROM events WHERE ${where}`,
  );
  return `WITH due AS (${due.join(" UNION ALL ")}) SELECT
    (${count("disbursements", "r.status = 'pending'")}) AS "pendingPayouts",
    (${count("checkouts", "r.status = 'pending'")}) AS "pendingCheckouts",
    (${count("events", "r.url IS NOT NULL AND r.status = 'pending'")}) AS "pendingDeliveries",
    (${count("events", "r.status IN ('ended', 'exhausted')")}) AS "failedDeliveries",
    (SELECT count(*) FROM due) AS "dueDeliveries",
    (SELECT min(due) FROM due) AS "oldestDueAt"`;
}

export const toWork = fields<WaitingWork>(
  "pendingPayouts pendingCheckouts pendingDeliveries dueDeliveries failedDeliveries oldestDueAt",
);
