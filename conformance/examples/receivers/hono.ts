// Hono with the client of this repository.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { receiveWebhooks } from "../../../client/webhooks/hono.ts";
import { openBookings } from "./bookings.ts";

const { WEBHOOK_SECRET = "", WEBHOOK_SECRET_OLD, BOOKINGS = "bookings.db", PORT = "8080" } = process.env;
const bookings = openBookings(BOOKINGS);
const app = new Hono();

app.post(
  "/webhooks",
  receiveWebhooks({
    secret: WEBHOOK_SECRET_OLD ? [WEBHOOK_SECRET, WEBHOOK_SECRET_OLD] : WEBHOOK_SECRET,
    onEvent: (event, { id }) => bookings.book(id, event),
    onError: (error) => console.error((error as Error).message),
  }),
);
app.get("/effects", (context) => context.json(bookings.all()));

serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" });
