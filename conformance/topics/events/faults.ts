// Servers whose events are false, late or repeated (§6, D11).
import type { Faults } from "../../broken/fault.ts";
import { changesBody, changesRecord, delivers, setsHeader, signed, withWebhookHeaders } from "../../broken/webhooks.ts";

const renames = (from: string, to: string) =>
  changesBody((body) => ({ ...body, event: String(body["event"]).replace(from, to) }));

export const faults: Faults = {
  "events.disbursement: The event of a failed payout is disbursement.completed.": renames(
    "disbursement.failed",
    "disbursement.completed",
  ),
  "events.checkout: A cancelled checkout's event is checkout.failed.": renames("checkout.cancelled", "checkout.failed"),
  "events.data-is-the-record: An event's amount differs from the record's by 1.": changesRecord((record) => ({
    ...record,
    amount: Number(record["amount"]) + 1,
  })),
  "events.json: Events are sent as text/plain.": setsHeader("content-type", "text/plain"),
  "events.once: Each event is sent twice with two webhook-ids.": delivers(async (message, deliver) => {
    const id = `${message.headers["webhook-id"]?.slice(0, -1)}x`;
    const reply = await deliver(message);
    await deliver(signed(withWebhookHeaders(message, { "webhook-id": id })));
    return reply;
  }),
};
