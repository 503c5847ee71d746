import type { ClientBase } from "pg";
import { StorageError } from "../storage-error.ts";

/**
 * Time-outs in milliseconds. Statements are short, so a statement that takes longer is waiting for a lock or for a
 * server in trouble.
 */
const TIMEOUTS = { lock_timeout: 2_000, statement_timeout: 2_500, idle_in_transaction_session_timeout: 5_000 };
/** Without statistics of its tables, PostgreSQL may compile a statement, which takes longer than any of the statements. */
const SETTINGS = { ...TIMEOUTS, jit: "off" };

/**
 * Commits must survive a crash of the database, whatever its default is. Any other value than `off` waits for the disk,
 * and may also wait for standbys, as the operator chose.
 */
const DURABLE = `set_config('synchronous_commit',
  coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)`;
/** Without this, PostgreSQL may store the word NULL in place of a value that is absent in an array of parameters. */
const NULLS = "set_config('array_nulls', 'on', true)";
const LOCAL_SETTINGS = Object.entries(SETTINGS).map(([name, value]) => `set_config('${name}', '${value}', true)`);

/**
 * Begins a transaction. Isolation, durability and the meaning of values are stated, because the defaults of the database,
 * the role and the server may differ and change at any time. Under stricter isolation, transactions of one merchant fail instead of
 * waiting.
 */
export const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${DURABLE}, ${NULLS}`;
const BEGIN_POOLED = `${BEGIN}, ${LOCAL_SETTINGS.join(", ")}`;

/** The connections that lead to a pooler, such as PgBouncer, which may execute each transaction in another session. */
const pooled = new WeakSet<object>();

/** A pooler announces a process id of its own. An id that differs from the session's id reveals the pooler. */
export async function leadsToPooler(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]!.pid !== (client as { processID?: number }).processID;
}

/** Statements of operators' commands may take long, whatever the time limits of the database and the role are. */
export async function liftTimeLimits(client: ClientBase): Promise<void> {
  // A setting that this version of PostgreSQL lacks is left out.
  if (!(await leadsToPooler(client)))
    await client.query(`SELECT set_config(name, '0', false) FROM pg_settings
      WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`);
}

/**
 * Prepares a new connection. Behind a pooler, a setting of the session would also affect other programs, and a prepared
 * statement might belong to another connection: transactions get their own settings instead, and statements have no
 * names.
 */
export async function prepareSession(client: ClientBase): Promise<void> {
  if (await leadsToPooler(client)) return void pooled.add(client);
  const settings = Object.entries(SETTINGS).map(([name, value]) => `SET ${name} = ${value}`);
  await client.query(settings.join("; "));
}

/** True if statements on this connection may have names. */
export const keepsStatements = (client: object): boolean => !pooled.has(client);

/** Returns the statement that begins a transaction on this connection. */
export const beginOf = (client: object): string => (pooled.has(client) ? BEGIN_POOLED : BEGIN);

/** For each setting: what a crash does if it is switched off, and what an operator has to do. */
const RISKS = {
  fsync: "a crash can damage the whole database. Set fsync=on on the PostgreSQL server",
  full_page_writes:
    "a crash can damage pages. Set full_page_writes=on on the PostgreSQL server. If its file system never writes half " +
    "a page (ZFS), append full_page_writes=off to the query of DATABASE_URL",
  synchronous_commit: "a crash loses acknowledged payouts. Set synchronous_commit=on on the PostgreSQL server",
};
const SWITCHED_OFF = "SELECT name FROM pg_settings WHERE setting = 'off' AND name = ANY($1) ORDER BY name";

/**
 * Checks that the database keeps commits, in a transaction that begins like all transactions of this service.
 * @throws StorageError if it does not
 */
export async function requireDurable(client: ClientBase, url: string) {
  await client.query(BEGIN);
  const { rows } = await client.query<{ name: keyof typeof RISKS }>(SWITCHED_OFF, [Object.keys(RISKS)]);
  await client.query("COMMIT");
  const accepted = new URL(url).searchParams.get("full_page_writes") === "off" ? "full_page_writes" : undefined;
  const risks = rows.map(({ name }) => name).filter((name) => name !== accepted);
  if (risks.length === 0) return;
  const message = risks.map((name) => `PostgreSQL runs with ${name}=off: ${RISKS[name]}.`).join(" ");
  throw new StorageError(`${message} A live service does not start like this.`);
}
