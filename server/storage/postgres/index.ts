import type { Clock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import type { AskedMode, Mode } from "../../domain/keys.ts";
import { silent, type Emit } from "../../domain/telemetry.ts";
import { claimMode, modeOfServer } from "../mode.ts";
import { portableStorage } from "../portable/index.ts";
import { sealStoredSecrets } from "../portable/secrets.ts";
import { sharedRates } from "../request-rates.ts";
import { createSealing } from "../sealing.ts";
import { createPool, explained, withConnection } from "./connections.ts";
import { createDatabase, type Database, type Queries } from "./database.ts";
import { postgresExecutor, type Batched } from "./executor.ts";
import { watchHealth } from "./errors.ts";
import { createBatcher } from "./batcher.ts";
import { keepTime } from "./keep-time.ts";
import { migrate, postgresMode } from "./migrate.ts";
import { requireDurable, type DurabilityOptions } from "./sessions.ts";

interface Options extends DurabilityOptions {
  clock: Clock;
  /** True for a server, which finishes interrupted work of earlier servers; false for a command. */
  server: boolean;
  /** The mode that a server asks for. If absent, the mode is not checked. */
  mode?: AskedMode;
  /** The clock that counts: the database's clock, which all processes share; for tests, this process's clock. */
  time?: "database" | "process";
  /** Reports commits, settled records, and when the storage stops or starts working. */
  emit?: Emit;
  /**
   * The keys of the webhook secrets. The first key encrypts, and all keys decrypt. Without keys, secrets are stored as
   * they are.
   */
  secretKeys?: readonly Buffer[];
}

/** A row that no other statement locks. */
const EXCLUSIVE = "SELECT version FROM schema_migrations WHERE version = 1 FOR UPDATE";

/** Limits of the work that waits in a batcher: further work is refused, and so is work that has waited for too long. */
const WAITING = { capacity: 10_000, patienceMs: 3_000 };

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
  let isClosed = false;
  /** Refuses work after the storage was closed, also the rest of an operation in several steps. */
  const whileOpen =
    <Args extends unknown[], T>(operation: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> =>
      isClosed ? Promise.reject(new Error("The storage is closed.")) : operation(...args);

  const queries: Queries = {
    read: whileOpen(db.read),
    transaction: whileOpen(db.transaction) as Queries["transaction"],
  };
  const batched: Batched = (work, options) => {
    const batcher = createBatcher((items: never[]) => work(items, db), { ...WAITING, ...options });
    batchers.push(batcher);
    return whileOpen(batcher.add) as never;
  };
  const sealing = createSealing(secretKeys);
  const executor = postgresExecutor(queries, batched, { sealing, emit });
  const portable = portableStorage(executor);
  const keeper = await keepTime(db, clock, { server, time });
  await executor.write(
    function* () {
      if (mode) yield* claimMode(mode);
      yield* sealStoredSecrets(sealing, { replace: server });
    },
    { repeatable: true },
  );
  const storage: Storage = {
    ...portable,
    takeRequest: sharedRates(executor),
    exclusively: (work) =>
      queries.transaction(async (query) => {
        await query(EXCLUSIVE);
        return work();
      }),
    ping: whileOpen(keeper.record),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.all(batchers.map((batcher) => batcher.idle()));
      await keeper.stop();
      await db.close();
    },
  };
  return watchHealth(storage, emit);
}
