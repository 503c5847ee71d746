// §6, D11: servers whose webhooks are lost, go astray or are untrue.
import { fault, type Hooks } from "../fault.ts";
import {
  nothing,
  isPayout,
  signed,
  withHeaders,
  sends,
  tells,
  tellsData,
  swallows,
  twice,
  plans,
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

/** Tells an address, which the server itself would not, that a payout failed. */
async function tell(url: string) {
  const { ask, close } = createAsk(new URL(url));
  const { pathname, search } = new URL(url);
  const body = Buffer.from('{"event":"disbursement.failed"}');
  await ask({ method: "POST", path: pathname + search, headers: { "content-type": "application/json" }, body });
  close();
}

const told = [
  fault(
    "webhook-success-lost",
    "Nobody hears of a success.",
    "webhook.disbursement-success",
    swallows(({ claimed }) => claimed.event.type === "disbursement.completed"),
  ),
  fault(
    "webhook-failure-lost",
    "Nobody hears of a failure.",
    "webhook.disbursement-failure",
    swallows(({ claimed }) => claimed.event.type === "disbursement.failed"),
  ),
  fault(
    "webhook-checkout-lost",
    "Nobody hears of a checkout.",
    "webhook.checkout-outcome",
    swallows((message) => !isPayout(message)),
  ),
  fault(
    "webhook-cancelled-lost",
    "Nobody hears of a checkout that was cancelled.",
    "webhook.checkout-outcome",
    swallows(({ claimed }) => claimed.event.type === "checkout.cancelled"),
  ),
  fault("webhook-to-others", "Every address ever given hears of every payout.", "webhook.only-with-address", () => {
    const known = new Set<string>();
    return {
      async webhook(message, deliver) {
        known.add(message.url);
        const replies = await Promise.all([...known].map((url) => deliver({ ...message, url })));
        return replies[0] ?? nothing;
      },
    };
  }),
  fault(
    "webhook-to-first",
    "All notifications go to the address that was given first.",
    "webhook.only-with-address",
    () => {
      let first: string | undefined;
      return { webhook: (message, deliver) => deliver({ ...message, url: (first ??= message.url) }) };
    },
  ),
  fault("webhook-for-refused", "A request that was refused is told as failed.", "webhook.only-with-address", {
    async handle(call, ask) {
      const reply = await ask(call);
      const { webhookURL } = fieldsOf(call.body) ?? {};
      const refused = isOf(call, createDisbursement) && reply && isError(reply) && reply.status !== 401;
      if (refused && typeof webhookURL === "string") await tell(webhookURL);
      return reply;
    },
  }),
  fault(
    "webhook-untrue",
    "A notification of success says failed.",
    "webhook.truth",
    tellsData((data) => ({ ...data, status: data["status"] === "success" ? "failed" : "success" })),
  ),
  fault(
    "webhook-names-otherwise",
    "Events have other names.",
    "webhook.event-names events.disbursement",
    tells((body) => ({ ...body, event: "payout.done" })),
  ),
  fault(
    "webhook-other-payload",
    "A notification carries a reference only.",
    "webhook.payload",
    tells(({ event, data }) => ({ event, reference: (data as Fields)["reference"] })),
  ),
  fault(
    "webhook-other-headers",
    "A notification has one header more.",
    "webhook.headers",
    sends((message) => withHeaders(message, { "x-event": "1" })),
  ),
  fault(
    "webhook-not-repeated",
    "A notification that was refused is not sent again.",
    "webhook.retries retries.after-failure",
    plans((outcome) => (outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome)),
  ),
];

const events = [
  fault(
    "event-always-completed",
    "A payout that failed is told as completed.",
    "events.disbursement",
    tells((body) => ({
      ...body,
      event: String(body["event"]).replace("disbursement.failed", "disbursement.completed"),
    })),
  ),
  fault(
    "event-cancelled-as-failed",
    "A cancelled checkout is told as failed.",
    "events.checkout",
    tells((body) => ({ ...body, event: String(body["event"]).replace("cancelled", "failed") })),
  ),
  ...["customer", ...record.filter((field) => !field.includes("."))].map((field) =>
    fault(
      `event-without-${field}`,
      `An event's data has no ${field}.`,
      "events.data-is-the-record",
      tellsData((data) => without(data, field)),
    ),
  ),
  fault(
    "event-amount-as-text",
    "An event's amount is text.",
    "events.data-is-the-record",
    tellsData((data) => ({ ...data, amount: String(data["amount"]) })),
  ),
  fault(
    "event-amount-with-fee",
    "An event's amount has the fee on it.",
    "events.data-is-the-record",
    tellsData((data) => ({ ...data, amount: Number(data["amount"]) + 1 })),
  ),
  fault(
    "event-stale",
    "An event tells of the record as it was before.",
    "events.data-is-the-record",
    tellsData((data) => ({ ...data, status: "pending", updatedAt: data["createdAt"] })),
  ),
  fault(
    "event-before-commit",
    "A webhook is sent before the record shows its change.",
    "events.data-is-the-record",
    () => {
      const sent = new Map<string, number>();
      return {
        webhook(message, deliver) {
          sent.set(message.claimed.event.record.reference, Date.now());
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
  fault(
    "event-extra",
    "An event's data has a field that the record has not.",
    "events.data-is-the-record",
    tellsData((data) => ({ ...data, internal: true })),
  ),
  fault("event-twice", "Each event is told twice, under two ids.", "events.once", {
    webhook: twice((message) =>
      signed(withHeaders(message, { "webhook-id": `${message.headers["webhook-id"]?.slice(0, -1)}x` })),
    ),
  }),
  fault(
    "event-repeated-under-other-id",
    "Each attempt has another webhook-id.",
    "events.once retries.after-failure",
    () => {
      let count = 0;
      return sends((message) =>
        signed(withHeaders(message, { "webhook-id": `msg_${String((count += 1)).padStart(32, "0")}` })),
      ) as Hooks;
    },
  ),
];

export const webhookFaults = [...told, ...events];
