import type { Storage } from "../../domain/storage.ts";
import { checkouts } from "./checkouts.ts";
import { explained, lockDatabase, openDatabase } from "./database.ts";
import { deliveryLog } from "./delivery-log.ts";
import { deliveryQueue } from "./delivery-queue.ts";
import { disbursements } from "./disbursements.ts";
import { events } from "./events.ts";
import { createKeyCache } from "./key-cache.ts";
import { merchants } from "./merchants.ts";
import { migrate } from "./migrate.ts";
import { timeline } from "./timeline.ts";
import { createWriter } from "./writer.ts";

/**
 * Opens a SQLite file (or `:memory:`), making or migrating its schema.
 * @param options.server take the file for a server: one alone may have it. The keys command works beside one.
 * @throws StorageError when the file is in use by another server, newer than this code, or cannot be opened
 */
export function openSqlite(path: string, options: { server: boolean }): Storage {
  return explained(path, () => open(path, options));
}

function open(path: string, options: { server: boolean }): Storage {
  const unlock = options.server ? lockDatabase(path) : () => {};
  try {
    const db = openDatabase(path);
    migrate(db);
    // A crash left these claimed, and nobody else can be at work on them.
    if (options.server) db.exec("UPDATE events SET claimed_until = NULL WHERE claimed_until IS NOT NULL");

    const { write, flush } = createWriter(db);
    const keys = createKeyCache(db);
    const context = { db, write, events: events(db), keys };
    return {
      ...merchants(context),
      ...disbursements(context),
      ...checkouts(context),
      ...deliveryQueue(context),
      ...deliveryLog(context),
      ...timeline(context),
      async ping() {
        db.prepare("SELECT 1 FROM merchants LIMIT 1").get();
      },
      async close() {
        flush();
        keys.close();
        db.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}
