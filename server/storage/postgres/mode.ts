import type { ClientBase, Pool } from "pg";
import type { Mode } from "../../domain/mode.ts";
import { MODE, modeOfServer, toMode, type FoundMode } from "../mode.ts";
import { BEGIN } from "./sessions.ts";

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
