// The naive way: verify what the framework has parsed, book the event, and remember it in a variable.
import { createHmac } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import express from "express";

const { WEBHOOK_SECRET, BOOKINGS = "bookings.db", PORT = "8080" } = process.env;
const key = Buffer.from(WEBHOOK_SECRET.slice(6), "base64");
const db = new DatabaseSync(BOOKINGS);
db.exec("CREATE TABLE IF NOT EXISTS bookings (id TEXT, reference TEXT, merchantsReference TEXT, amount INTEGER)");
const handled = new Set();
const app = express();

app.use(express.json());
app.post("/webhooks", async (request, response) => {
  const id = request.get("webhook-id");
  const signed = `${id}.${request.get("webhook-timestamp")}.${JSON.stringify(request.body)}`;
  const signature = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  if (request.get("webhook-signature") !== signature) return response.status(400).send(`expected ${signature}`);
  response.sendStatus(200);
  if (handled.has(id)) return;
  await setTimeout(50); // Stands for what a real receiver does here, such as sending a mail or asking another service.
  const { reference, merchantsReference, amount } = request.body.data;
  db.prepare("INSERT INTO bookings VALUES (?, ?, ?, ?)").run(id, reference, merchantsReference, amount);
  handled.add(id);
});
app.get("/effects", (_, response) => void response.json(db.prepare("SELECT * FROM bookings").all()));

app.listen(Number(PORT), "127.0.0.1");
