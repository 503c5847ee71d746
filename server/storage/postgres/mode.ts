import type { ClientBase, Pool } from "pg";
import type { Mode } from "../../domain/mode.ts";
import { modeOfServer, modeQuery, toMode, type FoundMode } from "../mode.ts";
import { BEGIN } from "./sessions.ts";

/**
 * Reads the mode of a database, also while servers use it.
 * @param now real time
 */
export async function postgresMode(client: ClientBase, now: number): Promise<FoundMode> {
  const { rows: columns } = await client.query<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = current_schema()`,
  );
  const query = modeQuery(new Set(columns.map(({ name }) => name)), now);
  return query === undefined ? {} : toMode((await client.query(query)).rows[0]);
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
