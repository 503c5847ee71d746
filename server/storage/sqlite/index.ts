import type { Clock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { checkouts } from "./checkouts.ts";
import { clockStore, finishRebases } from "./clock-store.ts";
import type { Context } from "./context.ts";
import { explained, lockDatabase, openDatabase } from "./database.ts";
import { deliveryQueue } from "./delivery-queue.ts";
import { disbursements } from "./disbursements.ts";
import { eventLog } from "./event-log.ts";
import { eventWriter } from "./events.ts";
import { housekeeping } from "./housekeeping.ts";
import { latestTime } from "./latest-time.ts";
import { createMerchantCache } from "./merchant-cache.ts";
import { merchants } from "./merchants.ts";
import { migrate } from "./migrate.ts";
import { createWriter } from "./writer.ts";

interface Options {
  clock: Clock;
  /** True for a server, which locks the file against other servers; false for the keys command. */
  server: boolean;
}

/**
 * Opens a SQLite file (or `:memory:`), creating or migrating its schema.
 * @throws StorageError if the file is in use by another server, has a newer schema, or cannot be opened
 */
export function openSqlite(path: string, options: Options): Storage {
  return explained(path, () => open(path, options));
}

function open(path: string, { clock, server }: Options): Storage {
  const unlock = server ? lockDatabase(path) : () => {};
  try {
    const db = openDatabase(path);
    migrate(db);
    if (server) finishRebases(db);

    const latest = latestTime(db, clock);
    const cache = createMerchantCache(db);
    const { write, read, flush } = createWriter(db, { beforeCommit: latest.record, onRollback: cache.clear });
    const context: Context = {
      db,
      write,
      read,
      now: () => clock.now(),
      merchantOf: cache.merchantOf,
      cache,
      events: eventWriter(db),
    };
    return {
      ...merchants(context),
      ...disbursements(context),
      ...checkouts(context),
      ...clockStore(context),
      ...deliveryQueue(context),
      ...eventLog(context),
      ...housekeeping(context),
      async ping() {
        db.prepare("SELECT 1 FROM merchants LIMIT 1").get();
      },
      async close() {
        flush();
        cache.close();
        db.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}
