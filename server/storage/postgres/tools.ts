/** The commands of PostgreSQL's own programs, for an operator to run. */

/** Every user of a machine can read the arguments of a command, so these URLs have no password. */
function shown(url: string, database?: string): string {
  const bare = new URL(url);
  bare.password = "";
  bare.searchParams.delete("password");
  if (database !== undefined) bare.pathname = `/${database}`;
  return quoted(bare.href);
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const PASSWORD = "Pass the password in PGPASSWORD or ~/.pgpass, because others can read arguments.";

export function dumpAdvice(url: string): string {
  return [
    "Back up PostgreSQL with its own program, also while servers are running:",
    `  pg_dump --format=custom --file=FILE ${shown(url)}`,
    PASSWORD,
  ].join("\n");
}

/** A rail may have been asked, since the backup, to pay what waits in the backup. */
const DOUBT = "UPDATE handovers SET asked_leased = (SELECT leased FROM service) WHERE state = 'waiting'";

export function restoreAdvice(url: string, file: string): string {
  return [
    "Restore PostgreSQL with its own programs, into a new database. Stop the servers, then run:",
    `  createdb --maintenance-db=${shown(url)} restored`,
    `  pg_restore --exit-on-error --single-transaction --no-owner --dbname=${shown(url, "restored")} ${quoted(file)}`,
    `  psql --dbname=${shown(url, "restored")} --command=${quoted(DOUBT)}`,
    `${PASSWORD} Then set DATABASE_URL to the new database.`,
  ].join("\n");
}
