// Makes bookings fail for as long as it runs, for --outage-command: it holds the lock of the database, or moves the folder
// away in which a receiver without a database keeps its bookings.
import { renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const bookings = process.env.BOOKINGS ?? "bookings.db";

function lock() {
  const db = new DatabaseSync(bookings, { timeout: 5000 });
  db.exec("BEGIN IMMEDIATE");
  return () => db.close();
}

function moveAway() {
  renameSync(bookings, `${bookings}.away`);
  return () => renameSync(`${bookings}.away`, bookings);
}

const end = statSync(bookings).isDirectory() ? moveAway() : lock();
process.once("SIGTERM", () => {
  end();
  process.exit();
});
console.log("bookings fail");
setInterval(() => undefined, 1000);
