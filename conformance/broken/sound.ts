// Sound servers that differ from the reference server where the interface is silent. Each server must be certified,
// unless its entry states another verdict.
import type { Hooks, Reply } from "./fault.ts";
import { sound, type SoundServer } from "./sound-server.ts";
import { liveAfter, liveForever } from "./live.ts";
import { limitedServers } from "./sound-limits.ts";
import { scopeServers } from "./sound-scope.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  dataOf,
  described,
  errors,
  fieldsOf,
  html,
  instead,
  isAccepted,
  isError,
  isOf,
  otherReferences,
  refusal,
  requests,
  verifyDisbursement,
  withBody,
  withHeader,
  without,
  withStatus,
  type Fields,
  hasExtra,
} from "./ways.ts";

const slowMs = 100;
/** Gives every disbursement a final status immediately. */
const ends = (status: "success" | "failed"): Hooks => ({
  storage: (inner) => ({
    insertDisbursement: ({ due: _due, ...record }) => inner.insertDisbursement({ ...record, status }),
  }),
});
const plans = [
  { country: "CI", currency: "XOF", code: "225" },
  { country: "NG", currency: "NGN", code: "234" },
  { country: "GH", currency: "GHS", code: "233" },
  { country: "KE", currency: "KES", code: "254" },
  { country: "US", currency: "USD", code: "1" },
];
/**
 * Returns true if phone number, country and currency belong together. Also returns true if the server does not know the
 * country and the calling code of the number.
 */
function ofOneCountry({ phoneNumber, country, currency }: Fields): boolean {
  const own = plans.find((plan) => plan.country === country);
  const dialled = plans.find(({ code }) => String(phoneNumber).startsWith(code));
  return own === dialled && (own === undefined || own.currency === currency);
}
/** In a relative link, what is before a colon would be a scheme. */
const withDots = (text: string) =>
  text.replaceAll(/(?<=(href|action)=")(?=CHK)/g, "./").replaceAll(/\b(CHK|DSB)(?=[0-9A-Z]{8})/g, "$1:v1.");
const withoutDots = (text: string) => text.replaceAll(/(CHK|DSB)(:|%3A)v1\./g, "$1");
/** Writes service references with a colon and a dot, in texts and links. */
const dotted = (): Hooks => ({
  async handle(call, ask) {
    const reply = await ask({ ...call, path: withoutDots(call.path) });
    if (!reply) return reply;
    const { location } = reply.headers;
    const headers = { ...reply.headers, ...(location === undefined ? {} : { location: withDots(location) }) };
    return { ...reply, headers, text: withDots(reply.text) };
  },
  webhook: (message, deliver) => deliver({ ...message, body: withDots(message.body) }),
});
/** Refuses a known reference before it looks at the rest of the request. */
function duplicatesFirst(): Hooks {
  const used = new Set<string>();
  return {
    async handle(call, ask) {
      if (!isOf(call, createDisbursement)) return ask(call);
      const { reference } = fieldsOf(call.body) ?? {};
      const name = JSON.stringify([call.headers["x-api-key"], reference]);
      if (used.has(name)) return refusal(409);
      const reply = await ask(call);
      if (reply && isAccepted(reply)) used.add(name);
      return reply;
    },
  };
}
const isLowerCase = (value: unknown, length: number) =>
  typeof value === "string" && value.length === length && /^[a-z]+$/.test(value);
const more = (fields: Fields): Fields => ({
  redirectURL: [],
  ...fields,
  extra: { nested: [1, null, "x"] },
  note: null,
});
const withMore = (reply: Reply): Reply => {
  const body = fieldsOf(reply.text);
  if (!body) return reply;
  return withBody(reply, more("data" in body ? { ...body, data: more(body["data"] as Fields) } : body));
};

export const soundServers: readonly SoundServer[] = [
  sound("other-checkout-body", "Creating a checkout returns 201 and a body of another shape.", () =>
    responses(createCheckout, (reply) => {
      if (!isAccepted(reply)) return reply;
      const { url, reference } = dataOf(reply);
      return { ...withBody(reply, { session: reference, links: [{ rel: "pay", href: url }] }), status: 201 };
    }),
  ),
  sound(
    "lenient-checkouts",
    "A checkout's country and currency may be in lower case, since §2.4 shows no pattern for them.",
    () =>
      requests(createCheckout, (fields) => ({
        ...fields,
        ...(isLowerCase(fields["country"], 2) ? { country: "CI" } : {}),
        ...(isLowerCase(fields["currency"], 3) ? { currency: "XOF" } : {}),
      })),
  ),
  sound(
    "page-with-refresh",
    "The page of a finished checkout leads to redirectURL by a meta element instead of a redirect.",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        const { location } = reply?.headers ?? {};
        if (!reply || !location?.startsWith("https:") || !call.path.startsWith("/checkouts/")) return reply;
        const text = `<meta http-equiv="refresh" content="0; url=${location.replaceAll("&", "&amp;")}">`;
        return { ...html(200), text };
      },
    }),
  ),
  sound("other-error-texts", "Error texts are in another language.", () =>
    errors("every", (body) => ({ ...body, error: "Non, désolé", message: "Réessayez" })),
  ),
  sound("no-message", "Errors have no message.", () => errors("every", (body) => without(body, "message"))),
  sound(
    "everything-invalid-400",
    "Every invalid request returns 400, including an unsupported media type and an oversized body.",
    () => responses("every", (reply) => ([413, 415, 422].includes(reply.status) ? withStatus(reply, 400) : reply)),
  ),
  sound("everything-invalid-422", "Every invalid request returns 422.", () =>
    responses(described, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  ),
  sound("no-location", "A 409 has no Location.", () =>
    responses("every", (reply) => (reply.status === 409 ? withHeader(reply, "location") : reply)),
  ),
  sound("no-sandbox", "The server is live: no forced outcomes and no /sandbox.", () => liveAfter(0)),
  sound("no-finish", "The sandbox cannot finish a checkout.", () => ({
    handle: async (call, ask) => (call.path.endsWith("/finish") ? refusal(404) : ask(call)),
  })),
  sound("no-healthz", "The server has no /healthz.", () => ({
    handle: async (call, ask) => (call.path === "/healthz" ? html(404) : ask(call)),
  })),
  sound("unsigned-webhooks", "Webhooks carry no id, timestamp or signature.", () => ({
    webhook: (message, deliver) =>
      deliver({ ...message, headers: { "content-type": "application/json", "user-agent": "other" } }),
  })),
  sound("other-webhooks", "Webhooks have another body and are sent twice.", () => ({
    async webhook(message, deliver) {
      const { event, data } = fieldsOf(message.body) as { event: string; data: Fields };
      const body = JSON.stringify({ type: event.toUpperCase(), payload: { ref: data["reference"] } });
      await deliver({ ...message, body });
      return deliver({ ...message, body });
    },
  })),
  sound("extra-fields", "Every response has undocumented fields.", () => responses("every", withMore)),
  sound("null-for-nothing", "A webhookURL that the merchant did not give is null.", () =>
    responses(verifyDisbursement, (reply) =>
      isAccepted(reply) ? withBody(reply, { statusCode: 200, data: { webhookURL: null, ...dataOf(reply) } }) : reply,
    ),
  ),
  sound("slow", "Every response is delayed by 100 ms.", ({ sleep }) => ({
    async handle(call, ask) {
      await sleep(slowMs);
      return ask(call);
    },
  })),
  {
    ...sound("path-prefix", "The API has a path prefix.", () => ({
      handle: async (call, ask) => {
        const path = call.path.startsWith("/api/payments/") ? call.path.slice("/api/payments".length) : undefined;
        if (path !== undefined) return ask({ ...call, path });
        return call.path.startsWith("/checkouts/") ? ask(call) : html(404);
      },
    })),
    prefix: "/api/payments",
  },
  sound("untyped", "Responses have no Content-Type.", () =>
    responses("every", (reply) => withHeader(reply, "content-type")),
  ),
  sound("refuses-invisible-characters", "References with characters that nobody sees are refused with 422.", () =>
    instead(
      createDisbursement,
      ({ reference }) => /[\u00a0\u200b]/.test(String(reference)),
      () => refusal(422),
    ),
  ),
  sound("other-references", "Service references have another form and length.", () =>
    otherReferences(() => `pay:${crypto.randomUUID()}~é`),
  ),
  sound("references-with-dots", "Service references of payouts and checkouts have dots and colons.", dotted),
  sound("duplicates-first", "A known reference returns 409 before anything else of the request is judged.", () =>
    duplicatesFirst(),
  ),
  sound("immediate-success", "Every payout succeeds immediately.", () => ends("success")),
  sound("immediate-failure", "Every payout fails immediately.", () => ends("failed")),
  {
    ...sound("settles-tomorrow", "The server is live and payouts stay pending for a day.", () => liveForever),
    // The run ends before a payout settles, so it cannot judge the notification.
    verdict: "error",
    args: ["--settle-timeout", "2"],
  },
  sound(
    "pages-for-other-errors",
    "Unknown paths, wrong methods and unsupported media types return HTML pages.",
    () => ({
      async handle(call, ask) {
        const reply = await ask(call);
        return reply && isError(reply) && ![400, 401, 404, 409, 422, 500].includes(reply.status)
          ? html(reply.status)
          : reply;
      },
    }),
  ),
  sound("strict-fields", "An unknown field is refused.", () => ({
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && hasExtra(fieldsOf(call.body) ?? {}) ? refusal(400) : ask(call),
  })),
  sound(
    "matches-numbers",
    "A phone number of another country is refused. A common country's foreign currency is also refused.",
    () => requests(createDisbursement, (fields) => (ofOneCountry(fields) ? fields : { ...fields, phoneNumber: "0" })),
  ),
  sound("rate-limited", "Requests are limited to 100 per second.", () => ({ env: { RATE_LIMIT: "100" } })),
  sound("closes-connections", "The server closes each connection after its response.", () =>
    responses("every", (reply) => withHeader(reply, "connection", "close")),
  ),
  ...scopeServers,
  ...limitedServers,
];
