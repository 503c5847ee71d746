// Makes bookings fail for as long as it runs, for --outage-command: it holds the lock of the database.
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(process.env.BOOKINGS ?? "bookings.db", { timeout: 5000 });
db.exec("BEGIN IMMEDIATE");
console.log("locked");
setInterval(() => db.isOpen, 1000);
