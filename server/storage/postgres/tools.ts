import { toWork, WORK, type Checked, type DatabaseStatus } from "../status.ts";
import { APPLICATION, withConnection } from "./connections.ts";
import { schemaOf } from "./migrate.ts";
import { BOOK_QUERIES, provenBooks } from "../books.ts";
import { StorageError } from "../storage-error.ts";

const PASSWORD = "Pass the password in PGPASSWORD or ~/.pgpass, because others can read arguments.";

/** How an operator backs up a database with PostgreSQL's own programs. */
export const DUMP = `Back up PostgreSQL with its own program, also while servers are running:
  pg_dump --format=custom --file=FILE URL
${PASSWORD}`;

/** How an operator restores a backup. A rail may have been asked, since the backup, to pay what waits in the backup. */
export const RESTORE = `Restore PostgreSQL with its own programs, into a new database. Stop the servers, then run:
  createdb --maintenance-db=URL restored
  pg_restore --exit-on-error --single-transaction --no-owner --dbname=NEW_URL FILE
  psql --dbname=NEW_URL --command="UPDATE handovers
    SET asked_leased = (SELECT leased FROM service) WHERE state = 'waiting'"
${PASSWORD} URL is the one of DATABASE_URL, and NEW_URL ends in /restored.`;

/**
 * Reads the status of a database, also while servers use it.
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function postgresStatus(url: string): Promise<DatabaseStatus> {
  return withConnection(url, async (client) => {
    const { version, pending } = await schemaOf(client);
    const { rows } = await client.query(SERVER, [APPLICATION]);
    const { database, bytes, serverVersion, ...connections } = rows[0];
    return {
      storage: "postgres",
      host: client.host,
      port: client.port,
      database,
      serverVersion,
      connections,
      version,
      pendingMigrations: pending.map(({ name }) => name),
      bytes,
      ...(pending.length === 0 && toWork((await client.query(WORK)).rows[0])),
    };
  });
}

const SERVER = `SELECT current_database()::text AS database, pg_database_size(current_database()) AS bytes,
    current_setting('server_version') AS "serverVersion",
    count(*) FILTER (WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()) AS service,
    count(*) AS server, current_setting('max_connections')::bigint AS most
  FROM pg_stat_activity WHERE datid IS NOT NULL`;

/** Checks the books, also while servers use the database. @throws StorageError if it cannot be opened or is older */
export function checkPostgres(url: string): Promise<Checked> {
  return withConnection(url, async (client) => {
    const { pending } = await schemaOf(client);
    if (pending.length > 0) throw new StorageError("The database has an older version. Run `db migrate` first.");
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const results = [];
    for (const sql of BOOK_QUERIES) results.push((await client.query(sql)).rows);
    await client.query("COMMIT");
    return { findings: provenBooks(results) };
  });
}
