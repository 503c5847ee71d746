import type { ClientBase, Pool } from "pg";
import { StorageError } from "../storage-error.ts";
import { BEGIN } from "./sessions.ts";
import type { Mode } from "../../domain/keys.ts";
import { MODE, modeOfServer, toMode, type FoundMode } from "../mode.ts";

const SELECT = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit`;

/** For each setting: what a crash does if it is switched off, and what an operator has to do. */
const RISKS = {
  fsync: "a crash can damage the whole database. Set fsync=on on the PostgreSQL server",
  full_page_writes:
    "a crash can damage pages. Set full_page_writes=on on the PostgreSQL server. If its file system never writes half " +
    "a page (ZFS), append full_page_writes=off to the query of DATABASE_URL",
  synchronous_commit: "a crash loses acknowledged payouts. Set synchronous_commit=on on the PostgreSQL server",
};
type Setting = keyof typeof RISKS;

export interface DurabilityOptions {
  /** True if real money moves, which needs a database that keeps what it has committed. */
  live?: boolean;
  /** Receives the warnings about a sandbox. */
  warn?: (message: string) => void;
}

/**
 * Checks that the database keeps commits, in a transaction that begins like all transactions of this service.
 * @throws StorageError if it does not, for a live service
 */
export async function requireDurable(client: ClientBase, url: string, { live, warn }: DurabilityOptions) {
  await client.query(BEGIN);
  const { rows } = await client.query<Record<Setting, string>>(SELECT);
  await client.query("COMMIT");
  const accepted = new URL(url).searchParams.get("full_page_writes") === "off" ? "full_page_writes" : undefined;
  const risks = (Object.keys(RISKS) as Setting[]).filter((name) => rows[0]![name] === "off" && name !== accepted);
  if (risks.length === 0) return;
  const message = risks.map((name) => `PostgreSQL runs with ${name}=off: ${RISKS[name]}.`).join(" ");
  if (live) throw new StorageError(`${message} A live service does not start like this.`);
  warn?.(message);
}

/** Reads the mode of a database, also while servers use it. */
export async function postgresMode(client: ClientBase): Promise<FoundMode> {
  const { rows } = await client.query<{ made: boolean }>("SELECT to_regclass('mode') IS NOT NULL AS made");
  return rows[0]!.made ? toMode((await client.query(MODE)).rows[0]) : {};
}

/**
 * Stores the mode of a database that has none. Of processes that start at the same time, one stores its mode.
 * @throws StorageError if the database has the other mode
 */
export async function claimMode(pool: Pool, mode: Mode): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(BEGIN);
    await client.query("INSERT INTO mode (id, name) VALUES (1, $1) ON CONFLICT DO NOTHING", [mode]);
    const { rows } = await client.query<{ name: Mode }>("SELECT name FROM mode");
    await client.query("COMMIT");
    modeOfServer(toMode({ mode: rows[0]!.name }), mode);
    client.release();
  } catch (error) {
    // Ending the connection rolls back.
    client.release(true);
    throw error;
  }
}
