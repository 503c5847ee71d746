// The database of the receivers in this folder. One transaction remembers an event and books it, so that a crash can
// neither lose a booking nor let a retry book twice.
import { DatabaseSync } from "node:sqlite";
import type { WebhookEvent } from "../../../client/webhooks/webhooks.ts";

/** Later versions of the service may add events, which a receiver ignores. */
const known = new Set([
  "disbursement.completed",
  "disbursement.failed",
  "checkout.completed",
  "checkout.failed",
  "checkout.cancelled",
]);

export function openBookings(file: string) {
  const db = new DatabaseSync(file);
  db.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS bookings (id TEXT, event TEXT, reference TEXT, merchantsReference TEXT, amount INTEGER);
  `);
  const remember = db.prepare("INSERT INTO events VALUES (?) ON CONFLICT DO NOTHING");
  const insert = db.prepare("INSERT INTO bookings VALUES (?, ?, ?, ?, ?)");
  const select = db.prepare("SELECT * FROM bookings");
  return {
    /** Books an event, unless it is unknown or was booked before. */
    book(id: string, { event, data }: WebhookEvent) {
      if (!known.has(event)) return;
      db.exec("BEGIN IMMEDIATE");
      try {
        const isNew = remember.run(id).changes === 1;
        if (isNew) insert.run(id, event, data.reference, data.merchantsReference, data.amount);
        db.exec("COMMIT");
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    },
    /** Everything that was booked, for --effects-url. */
    all: () => select.all(),
  };
}
