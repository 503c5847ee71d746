// Sound servers that do otherwise than the reference server wherever the interface is silent. Each has to be certified.
import type { Reply } from "./fault.ts";
import type { How } from "./fault.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  dataOf,
  described,
  errors,
  fieldsOf,
  html,
  isAccepted,
  isError,
  isOf,
  otherReferences,
  refusal,
  verifyDisbursement,
  withBody,
  withHeader,
  without,
  withStatus,
  type Fields,
} from "./ways.ts";

export type SoundServer = {
  id: string;
  /** How it differs, in one sentence. */
  differs: string;
  how: How;
  /** In front of /v1. */
  prefix?: string;
};

const slowMs = 100;
/** Final at once, whatever the number. */
const ends = (status: "success" | "failed"): How => ({
  storage: (inner) => ({
    insertDisbursement: ({ due: _due, ...record }) => inner.insertDisbursement({ ...record, status }),
  }),
});
const more = (fields: Fields): Fields => ({ ...fields, extra: { nested: [1, null, "x"] }, note: null });
const withMore = (reply: Reply): Reply => {
  const body = fieldsOf(reply.text);
  if (!body) return reply;
  return withBody(reply, more("data" in body ? { ...body, data: more(body["data"] as Fields) } : body));
};

export const soundServers: readonly SoundServer[] = [
  {
    id: "other-checkout-body",
    differs: "A checkout is answered with 201 and a body of another shape.",
    how: responses(createCheckout, (reply) => {
      if (!isAccepted(reply)) return reply;
      const { url, reference } = dataOf(reply);
      return { ...withBody(reply, { session: reference, links: [{ rel: "pay", href: url }] }), status: 201 };
    }),
  },
  {
    id: "other-error-texts",
    differs: "Errors say something else, in another language.",
    how: errors("every", (body) => ({ ...body, error: "Non, désolé", message: "Réessayez" })),
  },
  { id: "no-message", differs: "Errors have no message.", how: errors("every", (body) => without(body, "message")) },
  {
    id: "everything-invalid-400",
    differs: "Everything invalid is a 400, even a media type or size.",
    how: responses("every", (reply) => ([413, 415, 422].includes(reply.status) ? withStatus(reply, 400) : reply)),
  },
  {
    id: "everything-invalid-422",
    differs: "Everything invalid is a 422.",
    how: responses(described, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  },
  {
    id: "no-location",
    differs: "A 409 has no Location.",
    how: responses("every", (reply) => withHeader(reply, "location")),
  },
  {
    id: "no-sandbox",
    differs: "It is live, and knows neither forced outcomes nor /sandbox.",
    how: { env: { SANDBOX: "false" } },
  },
  {
    id: "no-healthz",
    differs: "It does not say what it is.",
    how: { handle: async (call, ask) => (call.path === "/healthz" ? html(404) : ask(call)) },
  },
  {
    id: "unsigned-webhooks",
    differs: "Webhooks have neither id, timestamp nor signature.",
    how: {
      webhook: (message, deliver) =>
        deliver({ ...message, headers: { "content-type": "application/json", "user-agent": "other" } }),
    },
  },
  {
    id: "other-webhooks",
    differs: "Webhooks have another body, and come twice.",
    how: {
      async webhook(message, deliver) {
        const { event, data } = fieldsOf(message.body) as { event: string; data: Fields };
        const body = JSON.stringify({ type: event.toUpperCase(), payload: { ref: data["reference"] } });
        await deliver({ ...message, body });
        return deliver({ ...message, body });
      },
    },
  },
  { id: "extra-fields", differs: "Every body has fields that nobody names.", how: responses("every", withMore) },
  {
    id: "null-for-nothing",
    differs: "A webhookURL that was not given is null.",
    how: responses(verifyDisbursement, (reply) =>
      isAccepted(reply) ? withBody(reply, { statusCode: 200, data: { webhookURL: null, ...dataOf(reply) } }) : reply,
    ),
  },
  {
    id: "slow",
    differs: "Every answer takes a tenth of a second longer.",
    how: ({ sleep }) => ({
      async handle(call, ask) {
        await sleep(slowMs);
        return ask(call);
      },
    }),
  },
  {
    id: "path-prefix",
    differs: "It lies behind a path of its own.",
    prefix: "/api/payments",
    how: {
      handle: async (call, ask) => {
        const path = call.path.startsWith("/api/payments/") ? call.path.slice("/api/payments".length) : undefined;
        if (path !== undefined) return ask({ ...call, path });
        return call.path.startsWith("/checkouts/") ? ask(call) : html(404);
      },
    },
  },
  {
    id: "other-references",
    differs: "References have another form and length.",
    how: otherReferences(() => `pay:${crypto.randomUUID()}~é`),
  },
  { id: "success-at-once", differs: "Every payout succeeds at once.", how: ends("success") },
  { id: "failure-at-once", differs: "Every payout fails at once.", how: ends("failed") },
  {
    id: "settles-tomorrow",
    differs: "It is live, and payouts stay pending until tomorrow.",
    how: { env: { SANDBOX: "false", SETTLE_DELAY_MS: "86400000" } },
  },
  {
    id: "pages-for-other-errors",
    differs: "Unknown paths, wrong methods and media types are answered with pages.",
    how: {
      async handle(call, ask) {
        const reply = await ask(call);
        return reply && isError(reply) && ![400, 401, 404, 409, 422, 500].includes(reply.status)
          ? html(reply.status)
          : reply;
      },
    },
  },
  {
    id: "strict-fields",
    differs: "A field that nobody knows is refused.",
    how: {
      handle: async (call, ask) =>
        isOf(call, createDisbursement) && "certifyExtra" in (fieldsOf(call.body) ?? {}) ? refusal(400) : ask(call),
    },
  },
  {
    id: "rate-limited",
    differs: "It lets only so many requests pass in a second.",
    how: { env: { RATE_LIMIT: "100" } },
  },
  {
    id: "closes-connections",
    differs: "It closes each connection after its answer.",
    how: responses("every", (reply) => withHeader(reply, "connection", "close")),
  },
];
