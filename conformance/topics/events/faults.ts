// Servers whose events are false, late or repeated (§6, D11).
import { also, type Faults } from "../../broken/fault.ts";
import { dataOf, isOf, lastPart, verifyDisbursement, withData } from "../../broken/exchanges.ts";
import {
  changesBody,
  changesMessage,
  changesRecord,
  delivers,
  signed,
  withWebhookHeaders,
} from "../../broken/webhooks.ts";

const renames = (from: string, to: string) =>
  changesBody((body) => ({ ...body, event: String(body["event"]).replace(from, to) }));

export const faults: Faults = {
  "events.disbursement": {
    "The event of a failed payout is disbursement.completed.": renames("disbursement.failed", "disbursement.completed"),
  },
  "events.checkout": {
    "The event of a cancelled checkout is checkout.failed.": renames("checkout.cancelled", "checkout.failed"),
  },
  "events.data-is-the-record": {
    "An event's amount differs from the record's by 1.": changesRecord((record) => ({
      ...record,
      amount: Number(record["amount"]) + 1,
    })),
    "An event's data has a field that the record does not have.": changesRecord((record) => ({
      ...record,
      internal: true,
    })),
    "A webhook is sent before the change is visible to verify.": () => {
      const notified = new Map<string, number>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          const isEarly = Date.now() < (notified.get(lastPart(call)) ?? 0) + 300;
          return reply && isEarly && isOf(call, verifyDisbursement)
            ? withData(reply, { ...dataOf(reply), status: "pending" })
            : reply;
        },
        webhook(message, deliver) {
          notified.set(message.claimed.reference, Date.now());
          return deliver(message);
        },
      };
    },
  },
  "events.json": {
    "Events are sent as text/plain.": changesMessage((message) =>
      withWebhookHeaders(message, { "content-type": "text/plain" }),
    ),
  },
  "events.once": {
    "Each event is sent twice with two webhook-ids.": delivers(async (message, deliver) => {
      const id = `${message.headers["webhook-id"]?.slice(0, -1)}x`;
      const reply = await deliver(message);
      await deliver(signed(withWebhookHeaders(message, { "webhook-id": id })));
      return reply;
    }),
    "Each attempt has a new webhook-id.": also("retries.after-failure", () => {
      let count = 0;
      return changesMessage((message) => {
        const id = `msg_${String((count += 1)).padStart(32, "0")}`;
        return signed(withWebhookHeaders(message, { "webhook-id": id }));
      });
    }),
  },
};
