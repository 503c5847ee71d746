/** Advice for an operator about an error of PostgreSQL or of a pooler, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  "25006": "The server accepts no writes: it is a standby or was made read-only. Set {variable} to the primary.",
  "40P01": "Programs that use the database stopped each other. Try again.",
  "42501": "The user of {variable} needs this permission.",
  "53100": "Free space on the disk of the PostgreSQL server.",
  "53300": "Close other connections to the PostgreSQL server, or raise its max_connections.",
  "55P03": "Another program has locked a table. End that program, then try again.",
  "57014": "The statement was cancelled. Try again.",
  "57P03": "Wait until the PostgreSQL server has started.",
};
const STATEMENT_MODE =
  "PgBouncer runs in statement mode, which has no transactions. Set its pool_mode to session or transaction.";

/**
 * Says why a database cannot be used, and what to do. Contains no URL, which may have a password.
 * @param variable the environment variable that has the URL
 */
export function explanation(error: NodeJS.ErrnoException, variable: string): string {
  const reason = error.message || error.code || String(error);
  if (/statement pooling/.test(reason)) return STATEMENT_MODE;
  const advice = ADVICE[error.code ?? ""] ?? "Check {variable}.";
  return `${reason.replace(/\.$/, "")}. ${advice.replace("{variable}", variable)}`;
}
