import type { Storage } from "../../domain/storage.ts";
import type { Mode } from "../../domain/keys.ts";
import { silent } from "../../domain/telemetry.ts";
import { claim, modeOfServer, type OpenOptions } from "../mode.ts";
import { portableStorage } from "../portable/index.ts";
import { sharedRates } from "../request-rates.ts";
import { createSealing } from "../sealing.ts";
import { createPool, explained, withConnection } from "./connections.ts";
import { createDatabase, type Database } from "./database.ts";
import { postgresExecutor, type Batched } from "./executor.ts";
import { watchHealth } from "./errors.ts";
import { createBatcher } from "./batcher.ts";
import { keepTime } from "./keep-time.ts";
import { migrate, postgresMode } from "./migrate.ts";
import { requireDurable, type DurabilityOptions } from "./sessions.ts";

interface Options extends OpenOptions, DurabilityOptions {
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
  const { mode: asked } = options;
  const mode = await withConnection(url, async (client) => {
    if (options.server) await requireDurable(client, url, options);
    // Check the mode first, so that a refusal changes nothing, not even the schema.
    const decided = asked && modeOfServer(await postgresMode(client), asked);
    await migrate(client);
    return decided;
  });
  return explained(async () => {
    const pool = createPool(url);
    try {
      const clock = options.time === "process" ? options.clock : undefined;
      return await open(createDatabase(pool, clock, options.emit), { ...options, mode });
    } catch (error) {
      await pool.end();
      throw error;
    }
  });
}

async function open(
  db: Database,
  { clock, server, time = "database", emit = silent, secretKeys, mode }: Omit<Options, "mode"> & { mode?: Mode },
): Promise<Storage> {
  const batchers: { idle(): Promise<void> }[] = [];
  const batched: Batched = (work, options) => {
    const batcher = createBatcher((items: never[]) => work(items, db), options);
    batchers.push(batcher);
    return batcher.add as never;
  };
  const sealing = createSealing(secretKeys);
  const executor = postgresExecutor(db, batched, { sealing, emit });
  const keeper = await keepTime(db, clock, { server, time });
  await executor.write(() => claim(mode, sealing, { server }), { repeatable: true });
  const storage: Storage = {
    ...portableStorage(executor),
    takeRequest: sharedRates(executor),
    exclusively: (work) =>
      db.transaction(async (query) => {
        await query(EXCLUSIVE);
        return work();
      }),
    ping: keeper.record,
    async close() {
      await Promise.all(batchers.map((batcher) => batcher.idle()));
      await keeper.stop();
      await db.close();
    },
  };
  return watchHealth(storage, emit);
}
