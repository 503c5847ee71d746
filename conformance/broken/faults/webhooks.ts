// Servers whose webhooks are lost, misdirected or false (§6, D11).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  noContent,
  isPayout,
  signed,
  withHeaders,
  changesMessage,
  changesBody,
  changesData,
  drops,
  sendsTwice,
  changesOutcome,
} from "../messages.ts";
import {
  createDisbursement,
  dataOf,
  fieldsOf,
  isError,
  isOf,
  lastPart,
  verifyDisbursement,
  withBody,
  without,
  type Fields,
} from "../ways.ts";
import { createAsk } from "../front.ts";
import { record } from "./fields.ts";

/** Sends an additional webhook which says that a payout failed. */
async function notifyFailure(url: string) {
  const { ask, close } = createAsk(new URL(url));
  const { pathname, search } = new URL(url);
  const body = Buffer.from('{"event":"disbursement.failed"}');
  await ask({ method: "POST", path: pathname + search, headers: { "content-type": "application/json" }, body });
  close();
}

const notifications = [
  fault("webhook-success-lost", "No webhook is sent for a successful payout.", "webhook.disbursement-success", () =>
    drops(({ claimed }) => claimed.type === "disbursement.completed"),
  ),
  fault("webhook-failure-lost", "No webhook is sent for a failed payout.", "webhook.disbursement-failure", () =>
    drops(({ claimed }) => claimed.type === "disbursement.failed"),
  ),
  fault("webhook-checkout-lost", "No webhook is sent for a checkout.", "webhook.checkout-outcome", () =>
    drops((message) => !isPayout(message)),
  ),
  fault("webhook-cancelled-lost", "No webhook is sent for a cancelled checkout.", "webhook.checkout-outcome", () =>
    drops(({ claimed }) => claimed.type === "checkout.cancelled"),
  ),
  fault(
    "webhook-to-others",
    "Every webhook is sent to every address given so far.",
    "webhook.only-with-address",
    () => {
      const known = new Set<string>();
      return {
        async webhook(message, deliver) {
          known.add(message.url);
          const replies = await Promise.all([...known].map((url) => deliver({ ...message, url })));
          return replies[0] ?? noContent;
        },
      };
    },
    "webhook.truth",
  ),
  fault("webhook-to-first", "All webhooks are sent to the first address given.", "webhook.only-with-address", () => {
    let first: string | undefined;
    return { webhook: (message, deliver) => deliver({ ...message, url: (first ??= message.url) }) };
  }),
  fault(
    "webhook-for-refused",
    "A refused request triggers a webhook for a failed payout.",
    "webhook.only-with-address",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        const { webhookURL } = fieldsOf(call.body) ?? {};
        const refused = isOf(call, createDisbursement) && reply && isError(reply) && reply.status !== 401;
        if (refused && typeof webhookURL === "string") await notifyFailure(webhookURL);
        return reply;
      },
    }),
  ),
  fault("webhook-false-status", "The status in a webhook is the opposite of the record's.", "webhook.truth", () =>
    changesData((data) => ({ ...data, status: data["status"] === "success" ? "failed" : "success" })),
  ),
  fault("webhook-success-before-failure", "A failed payout is first notified as a success.", "webhook.truth", () => ({
    async webhook(message, deliver) {
      const { data } = (fieldsOf(message.body) ?? {}) as { data?: Fields };
      const success = JSON.stringify({ event: "disbursement.completed", data: { ...data, status: "success" } });
      if (data?.["status"] === "failed" && isPayout(message)) await deliver(signed({ ...message, body: success }));
      return deliver(message);
    },
  })),
  fault("webhook-other-event-names", "Events have other names.", "webhook.event-names events.disbursement", () =>
    changesBody((body) => ({ ...body, event: "payout.done" })),
  ),
  fault("webhook-other-payload", "A webhook contains only the reference.", "webhook.payload", () =>
    changesBody(({ event, data }) => ({ event, reference: (data as Fields)["reference"] })),
  ),
  fault("webhook-other-headers", "A webhook has an additional header.", "webhook.headers", () =>
    changesMessage((message) => withHeaders(message, { "x-event": "1" })),
  ),
  fault("webhook-not-retried", "A failed delivery is not retried.", "webhook.retries retries.after-failure", () =>
    changesOutcome((outcome) => (outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome)),
  ),
];

const events = [
  quickFault(
    "event-always-completed",
    "The event of a failed payout is disbursement.completed.",
    "events.disbursement",
    () =>
      changesBody((body) => ({
        ...body,
        event: String(body["event"]).replace("disbursement.failed", "disbursement.completed"),
      })),
  ),
  fault("event-cancelled-as-failed", "The event of a cancelled checkout is checkout.failed.", "events.checkout", () =>
    changesBody((body) => ({ ...body, event: String(body["event"]).replace("cancelled", "failed") })),
  ),
  ...["customer", ...record.filter((field) => !field.includes("."))].map((field) =>
    fault(`event-without-${field}`, `An event's data has no ${field}.`, "events.data-is-the-record", () =>
      changesData((data) => without(data, field)),
    ),
  ),
  fault("event-amount-as-text", "An event's amount is a string.", "events.data-is-the-record", () =>
    changesData((data) => ({ ...data, amount: String(data["amount"]) })),
  ),
  fault(
    "event-amount-off-by-one",
    "An event's amount differs from the record's by 1.",
    "events.data-is-the-record",
    () => changesData((data) => ({ ...data, amount: Number(data["amount"]) + 1 })),
  ),
  fault("event-stale", "An event contains the record before its change.", "events.data-is-the-record", () =>
    changesData((data) => ({ ...data, status: "pending", updatedAt: data["createdAt"] })),
  ),
  fault(
    "event-before-commit",
    "A webhook is sent before the change is visible to verify.",
    "events.data-is-the-record",
    () => {
      const sent = new Map<string, number>();
      return {
        webhook(message, deliver) {
          sent.set(message.claimed.reference, Date.now());
          return deliver(message);
        },
        async handle(call, ask) {
          const reply = await ask(call);
          const early = Date.now() < (sent.get(lastPart(call)) ?? 0) + 300;
          return reply && early && isOf(call, verifyDisbursement)
            ? withBody(reply, { statusCode: 200, data: { ...dataOf(reply), status: "pending" } })
            : reply;
        },
      };
    },
  ),
  fault("event-as-text", "Events are sent as text/plain.", "events.json", () =>
    changesMessage((message) => withHeaders(message, { "content-type": "text/plain" })),
  ),
  fault("event-extra", "An event's data has a field that the record does not have.", "events.data-is-the-record", () =>
    changesData((data) => ({ ...data, internal: true })),
  ),
  fault("event-twice", "Each event is sent twice with two webhook-ids.", "events.once", () => ({
    webhook: sendsTwice((message) =>
      signed(withHeaders(message, { "webhook-id": `${message.headers["webhook-id"]?.slice(0, -1)}x` })),
    ),
  })),
  fault("event-retried-with-new-id", "Each attempt has a new webhook-id.", "events.once retries.after-failure", () => {
    let count = 0;
    return changesMessage((message) =>
      signed(withHeaders(message, { "webhook-id": `msg_${String((count += 1)).padStart(32, "0")}` })),
    ) as Hooks;
  }),
];

export const faults: readonly Fault[] = [...notifications, ...events];
