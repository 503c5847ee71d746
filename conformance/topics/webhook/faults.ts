// Servers whose webhooks are lost, misdirected or false (§6).
import { also, through, type Faults } from "../../broken/fault.ts";
import {
  createDisbursement,
  handles,
  isError,
  isOf,
  lastPart,
  notify,
  textIn,
  verifyDisbursement,
} from "../../broken/exchanges.ts";
import {
  changesBody,
  changesMessage,
  changesOutcome,
  delivers,
  drops,
  isOfEvent,
  isPayout,
  noContent,
  recordIn,
  signed,
  withWebhookHeaders,
} from "../../broken/webhooks.ts";

export const faults: Faults = {
  "webhook.disbursement-success": {
    "No webhook is sent for a successful payout.": drops(isOfEvent("disbursement.completed")),
    "A webhook is sent only once its payout has been verified.": () => {
      const verified = new Set<string>();
      const waiting = new Map<string, () => unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (!isOf(call, verifyDisbursement)) return reply;
          verified.add(lastPart(call));
          void waiting.get(lastPart(call))?.();
          waiting.delete(lastPart(call));
          return reply;
        },
        async webhook(message, deliver) {
          const { reference } = message.claimed;
          if (!isPayout(message) || verified.has(reference)) return deliver(message);
          waiting.set(reference, () => deliver(message));
          return noContent;
        },
      };
    },
  },
  "webhook.disbursement-failure": {
    "No webhook is sent for a failed payout.": drops(isOfEvent("disbursement.failed")),
  },
  "webhook.checkout-outcome": {
    "No webhook is sent for a checkout.": drops((message) => !isPayout(message)),
  },
  "webhook.only-with-address": {
    "Every webhook is sent to every address given so far.": through("webhook.truth", () => {
      const known = new Set<string>();
      return delivers(async (message, deliver) => {
        known.add(message.url);
        const replies = await Promise.all([...known].map((url) => deliver({ ...message, url })));
        return replies[0] ?? noContent;
      });
    }),
    "A refused request triggers a webhook for a failed payout.": handles(async (call, ask) => {
      const reply = await ask(call);
      const isRefused = isOf(call, createDisbursement) && reply && isError(reply) && reply.status !== 401;
      if (isRefused) await notify(textIn(call, "webhookURL"));
      return reply;
    }),
  },
  "webhook.truth": {
    "A failed payout is first notified as a success.": delivers(async (message, deliver) => {
      const data = recordIn(message);
      const body = JSON.stringify({ event: "disbursement.completed", data: { ...data, status: "success" } });
      if (data["status"] === "failed" && isPayout(message)) await deliver(signed({ ...message, body }));
      return deliver(message);
    }),
  },
  "webhook.event-names": {
    "Events have other names.": also(
      "events.disbursement",
      changesBody((body) => ({ ...body, event: "payout.done" })),
    ),
  },
  "webhook.payload": {
    "A webhook contains only the reference.": changesBody(({ event, data }) => ({
      event,
      reference: (data as { reference: string }).reference,
    })),
  },
  "webhook.headers": {
    "A webhook has an additional header.": changesMessage((message) => withWebhookHeaders(message, { "x-event": "1" })),
  },
  "webhook.retries": {
    "A failed delivery is not retried.": also(
      "retries.after-failure",
      changesOutcome((outcome) =>
        outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome,
      ),
    ),
  },
};
