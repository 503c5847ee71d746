import { bookQueries, provenBooks } from "../books.ts";
import type { Checked } from "../sqlite/check.ts";
import { StorageError } from "../storage-error.ts";
import { withConnection } from "./connections.ts";
import { schemaOf } from "./migrate.ts";

/** Checks the books, also while servers use the database. @throws StorageError if it cannot be opened or is older */
export function checkPostgres(url: string): Promise<Checked> {
  return withConnection(url, async (client) => {
    const { pending } = await schemaOf(client);
    if (pending.length > 0) throw new StorageError("The database has an older version. Run `db migrate` first.");
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const results = [];
    for (const sql of bookQueries("postgres")) results.push((await client.query(sql)).rows);
    await client.query("COMMIT");
    return { findings: provenBooks(results) };
  });
}
