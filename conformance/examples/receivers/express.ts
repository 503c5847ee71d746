// Express with the client of this repository.
import express from "express";
import { receiveWebhooks } from "../../../client/webhooks/express.ts";
import { openBookings } from "./bookings.ts";

const { WEBHOOK_SECRET = "", WEBHOOK_SECRET_OLD, BOOKINGS = "bookings.db", PORT = "8080" } = process.env;
const bookings = openBookings(BOOKINGS);
const app = express();

app.post(
  "/webhooks",
  receiveWebhooks({
    secret: WEBHOOK_SECRET_OLD ? [WEBHOOK_SECRET, WEBHOOK_SECRET_OLD] : WEBHOOK_SECRET,
    onEvent: (event, { id }) => bookings.book(id, event),
    onError: (error) => console.error((error as Error).message),
  }),
);
app.get("/effects", (_, response) => void response.json(bookings.all()));

app.listen(Number(PORT), "127.0.0.1");
