import type { Pool } from "pg";
import type { Storage } from "../../domain/storage.ts";
import { silent } from "../../domain/telemetry.ts";
import { createGuard } from "../guard.ts";
import type { OpenOptions } from "../mode.ts";
import { portableStorage } from "../portable/index.ts";
import { sealStoredSecrets } from "../portable/merchants.ts";
import { sharedRates } from "../request-rates.ts";
import { createSealing } from "../sealing.ts";
import { createPool, explained, withConnection } from "./connections.ts";
import { createDatabase } from "./database.ts";
import { watchHealth } from "./errors.ts";
import { postgresExecutor } from "./executor.ts";
import { keepTime } from "./keep-time.ts";
import { migrate } from "./migrate.ts";
import { requireDurable } from "./sessions.ts";

interface Options extends OpenOptions {
  /** The clock that counts: the database's clock, which all processes share; for tests, this process's clock. */
  time?: "database" | "process";
}

/** A row that no other statement locks. */
const EXCLUSIVE = "SELECT version FROM schema_migrations WHERE version = 1 FOR UPDATE";

/**
 * Opens a PostgreSQL database, creating or migrating its schema. Any number of processes may use it.
 * @throws StorageError if it cannot be reached, has a newer schema, or contains the tables of another program
 */
export async function openPostgres(url: string, options: Options): Promise<Storage> {
  await withConnection(url, async (client) => {
    if (options.server && options.mode === "live") await requireDurable(client, url);
    await migrate(client, options);
  });
  return explained(async () => {
    const pool = createPool(url);
    try {
      return await open(pool, options);
    } catch (error) {
      await pool.end();
      throw error;
    }
  });
}

async function open(
  pool: Pool,
  { clock, server, time = "database", emit = silent, secretKeys }: Options,
): Promise<Storage> {
  const sealing = createSealing(secretKeys);
  const db = createDatabase(pool, time === "process" ? clock : undefined, emit);
  const plain = postgresExecutor(db, { sealing, emit });
  const keeper = await keepTime(plain, clock, { server, time });
  await plain.write(() => sealStoredSecrets(sealing, { replace: server }), { idempotent: true });
  const { explain, worked } = watchHealth(emit);
  const guard = createGuard(explain, worked);
  const executor = guard.guarded(plain);
  return {
    ...portableStorage(executor),
    takeRequest: sharedRates(executor),
    exclusively: (work) =>
      guard.run(() =>
        db.transaction(async (send) => {
          await send({ text: EXCLUSIVE });
          return work();
        }),
      ),
    ping: () => guard.run(keeper.record),
    async close() {
      if (!(await guard.close())) return;
      await keeper.stop();
      await pool.end();
    },
  };
}
