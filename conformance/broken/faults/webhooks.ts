// §6, D11 to D13: servers whose webhooks are lost, untrue, unsigned or not repeated.
import { sign } from "../../../server/webhooks/signature.ts";
import type { Storage } from "../../../server/storage/storage.ts";
import { fault, type Deliver, type Hooks, type How, type Message, type Reply } from "../fault.ts";
import { dataOf, fieldsOf, isOf, lastPart, verify, withBody, withHeader, without, type Fields } from "../ways.ts";
import { record } from "./fields.ts";

const nothing: Reply = { status: 204, headers: {}, text: "" };
const seconds = ({ headers }: Message) => Number(headers["webhook-timestamp"]);
const isPayout = ({ claimed }: Message) => claimed.event.type.startsWith("disbursement");

/** The message signed anew, so that nothing but what was changed is wrong with it. */
function signed(message: Message, secrets = [message.claimed.secrets.current]): Message {
  const id = message.headers["webhook-id"] ?? "";
  const signature = sign(secrets, id, seconds(message), message.body);
  return { ...message, headers: { ...message.headers, "webhook-signature": signature } };
}
const withHeaders = (message: Message, headers: Record<string, string>): Message => ({
  ...message,
  headers: { ...message.headers, ...headers },
});
const lacking = (message: Message, name: string): Message => ({
  ...message,
  headers: without(message.headers, name) as Message["headers"],
});

/** Changes messages on their way. */
const sends = (change: (message: Message) => Message): How => ({
  webhook: (message, deliver) => deliver(change(message)),
});
/** Changes what is told, and signs it. */
const tells = (change: (body: Fields, message: Message) => Fields): How =>
  sends((message) => signed({ ...message, body: JSON.stringify(change(fieldsOf(message.body) ?? {}, message)) }));
const tellsData = (change: (data: Fields) => Fields): How =>
  tells((body) => ({ ...body, data: change(body["data"] as Fields) }));
/** Swallows messages that fit. */
const swallows = (fits: (message: Message) => boolean): How => ({
  webhook: async (message, deliver) => (fits(message) ? nothing : deliver(message)),
});
const twice =
  (again: (message: Message) => Message): NonNullable<Hooks["webhook"]> =>
  async (message, deliver) => {
    const reply = await deliver(message);
    await deliver(again(message));
    return reply;
  };
/** Changes what is written down of an attempt, and so what comes next. */
type Outcome = Parameters<Storage["recordAttempt"]>[2];
const plans = (change: (outcome: Outcome, attempt: Parameters<Storage["recordAttempt"]>[1]) => Outcome): How => ({
  storage: (inner) => ({
    recordAttempt: (id, attempt, outcome) => inner.recordAttempt(id, attempt, change(outcome, attempt)),
  }),
});
const wait = (outcome: Outcome, at: number, factor: number): Outcome =>
  outcome.nextAttemptAt === undefined
    ? outcome
    : { ...outcome, nextAttemptAt: Math.round(at + (outcome.nextAttemptAt - at) * factor) };
const follow = async (message: Message, deliver: Deliver): Promise<Reply> => {
  const reply = await deliver(message);
  const { location } = reply.headers;
  return location === undefined ? reply : deliver({ ...message, url: location });
};

const otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

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
          return reply && early && isOf(call, verify)
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

const signatures = [
  fault(
    "signature-missing",
    "Webhooks are not signed.",
    "signature.headers signature.verifies",
    sends((message) => lacking(message, "webhook-signature")),
  ),
  fault(
    "id-missing",
    "Webhooks have no id.",
    "signature.headers",
    sends((message) => lacking(message, "webhook-id")),
  ),
  fault(
    "timestamp-missing",
    "Webhooks have no timestamp.",
    "signature.headers",
    sends((message) => lacking(message, "webhook-timestamp")),
  ),
  fault(
    "timestamp-in-ms",
    "webhook-timestamp is in milliseconds.",
    "signature.headers signature.timestamp-real",
    sends((message) => signed(withHeaders(message, { "webhook-timestamp": String(seconds(message) * 1000) }))),
  ),
  fault(
    "timestamp-in-sandbox-time",
    "webhook-timestamp is the sandbox time.",
    "signature.timestamp-real",
    sends((message) =>
      signed(
        withHeaders(message, {
          "webhook-timestamp": String(seconds(message) + Math.round(message.claimed.merchant.clockOffset / 1000)),
        }),
      ),
    ),
  ),
  fault(
    "timestamp-of-event",
    "webhook-timestamp is that of the event.",
    "signature.timestamp-real",
    sends((message) =>
      signed(withHeaders(message, { "webhook-timestamp": String(Math.floor(message.claimed.event.createdAt / 1000)) })),
    ),
  ),
  fault(
    "signature-in-hex",
    "Signatures are hexadecimal.",
    "signature.headers signature.verifies",
    sends((message) =>
      withHeaders(message, {
        "webhook-signature": `v1,${Buffer.from((message.headers["webhook-signature"] ?? "").slice(3), "base64").toString("hex")}`,
      }),
    ),
  ),
  fault(
    "signature-without-version",
    "Signatures have no version.",
    "signature.headers signature.verifies",
    sends((message) =>
      withHeaders(message, { "webhook-signature": (message.headers["webhook-signature"] ?? "").slice(3) }),
    ),
  ),
  fault(
    "signature-with-other-secret",
    "All merchants' webhooks are signed with one secret.",
    "signature.verifies",
    sends((message) => signed(message, [otherSecret])),
  ),
  fault(
    "signature-over-body-alone",
    "The signature leaves id and timestamp out.",
    "signature.verifies",
    sends((message) => {
      const only = signed({ ...message, headers: { ...message.headers, "webhook-id": "", "webhook-timestamp": "0" } });
      return withHeaders(message, { "webhook-signature": only.headers["webhook-signature"] ?? "" });
    }),
  ),
  fault(
    "signature-over-other-body",
    "What is sent is not what was signed.",
    "signature.verifies",
    sends((message) => ({ ...message, body: `${message.body} ` })),
  ),
  fault(
    "rotation-drops-old",
    "After a rotation the old secret signs no more.",
    "signature.rotation",
    sends((message) => signed(message)),
  ),
  fault(
    "rotation-keeps-old",
    "After a rotation the old secret signs for ever.",
    "signature.rotation",
    sends((message) => {
      const { current, previous } = message.claimed.secrets;
      return signed(message, previous ? [current, previous.secret] : [current]);
    }),
  ),
  fault("rotation-does-nothing", "A rotation leaves the secret as it was.", "signature.rotation", {
    storage: ({ readSecrets }) => ({ rotateSecret: (merchantId) => readSecrets(merchantId) }),
  }),
];

const retries = [
  fault(
    "retries-three",
    "There are three attempts and no more.",
    "retries.schedule",
    plans((outcome) =>
      outcome.step >= 3 && outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome,
    ),
  ),
  fault(
    "retries-without-end",
    "Attempts never end.",
    "retries.schedule",
    plans((outcome, { at }) =>
      outcome.status === "exhausted" ? { status: "pending", step: 9, nextAttemptAt: at + 86_400_000 } : outcome,
    ),
  ),
  fault(
    "retries-too-early",
    "Attempts come in half the time.",
    "retries.schedule",
    plans((outcome, { at }) => wait(outcome, at, 0.5)),
  ),
  fault(
    "retries-too-late",
    "Attempts come in twice the time.",
    "retries.schedule",
    plans((outcome, { at }) => wait(outcome, at, 2)),
  ),
  fault(
    "retries-after-success",
    "A delivery that succeeded is repeated.",
    "retries.after-failure events.once",
    plans((outcome, { at }) =>
      outcome.status === "delivered" && outcome.step < 5
        ? { status: "pending", step: outcome.step, nextAttemptAt: at + 5000 }
        : outcome,
    ),
  ),
  fault("retries-with-other-body", "Each attempt has another body.", "retries.after-failure", () => {
    let count = 0;
    return tells((body) => ({ ...body, attempt: (count += 1) })) as Hooks;
  }),
  fault("redirect-followed", "A redirect of the receiver is followed.", "retries.redirect-fails", { webhook: follow }),
  fault("redirect-delivers", "A redirect counts as delivered.", "retries.redirect-fails", {
    webhook: async (message, deliver) => ({ ...(await deliver(message)), status: 200 }),
  }),
  fault("gone-ignored", "A 410 is tried again.", "retries.gone-ends", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? { ...reply, status: 500 } : reply;
    },
  }),
  fault("gone-delivers", "A 410 counts as delivered.", "retries.gone-ends", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? nothing : reply;
    },
  }),
  fault("retry-after-ignored", "Retry-After is ignored.", "retries.retry-after", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return withHeader(reply, "retry-after");
    },
  }),
  fault(
    "retry-after-without-limit",
    "Retry-After puts the next attempt off by more than an hour.",
    "retries.retry-after",
    plans((outcome, { at }) =>
      outcome.nextAttemptAt === at + 3_600_000 ? { ...outcome, nextAttemptAt: at + 86_400_000 } : outcome,
    ),
  ),
  fault("one-after-the-other", "Deliveries wait for one another.", "retries.slow-receiver", () => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      webhook(message, deliver) {
        const reply = last.then(() => deliver(message));
        last = reply;
        return reply;
      },
    };
  }),
];

export const webhookFaults = [...told, ...events, ...signatures, ...retries];
