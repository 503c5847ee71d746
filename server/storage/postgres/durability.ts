import type { ClientBase } from "pg";
import { StorageError } from "../storage-error.ts";
import { BEGIN } from "./sessions.ts";

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
