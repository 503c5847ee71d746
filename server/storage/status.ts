import { MODE } from "./mode.ts";

/** The status of a database, for an operator: its place, version and size, and what waits. Contains no secret. */
export interface DatabaseStatus {
  version: number;
  pendingMigrations: string[];
  [fact: string]: unknown;
}

/** What a check of a database found. */
export interface Checked {
  /** The damages; empty if there are none. At most about a hundred findings. */
  findings: string[];
  /** The number of pages; 0 if it cannot be read because of the damage; absent for PostgreSQL. */
  pages?: number;
}

/** Joins the merchants, because the indexes begin with the merchant. */
const count = (table: string, where: string) =>
  `SELECT count(*) FROM merchants m JOIN ${table} r ON r.merchant_id = m.id WHERE ${where}`;

/** The part of the status that `WORK` reads. */
export const toWork = ({ mode, ...work }: Readonly<Record<string, unknown>>) => ({ work, mode });

/** Reads what waits of all merchants, and the mode, from a database that has the tables. */
export const WORK = `SELECT (${MODE}) AS mode,
    (${count("disbursements", "r.status = 'pending'")}) AS "pendingPayouts",
    (${count("checkouts", "r.status = 'pending'")}) AS "pendingCheckouts",
    (${count("events", "r.url IS NOT NULL AND r.status = 'pending'")}) AS "pendingDeliveries",
    (${count("events", "r.status IN ('ended', 'exhausted')")}) AS "failedDeliveries"`;
