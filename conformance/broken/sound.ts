// Sound servers that differ from the reference server where the interface is silent, or have limits that §8 leaves open
// (D45). Each must be certified, unless its entry states another verdict.
import { setTimeout as sleep } from "node:timers/promises";
import type { Declaration } from "../allowances/declaration.ts";
import {
  creates,
  described,
  disbursementIn,
  extraIn,
  fieldsOf,
  isOf,
  isText,
  keyOf,
  lastPart,
  withFields,
  without,
  type Fields,
  type Operations,
} from "./calls.ts";
import { dataOf, html, isAccepted, isError, refusal, withBody, withHeader, withStatus } from "./replies.ts";
import { errors, handles, pages, records, refuses, requests, responses, statuses } from "./changes.ts";
import { otherReferences, readsLate } from "./memory.ts";
import type { Ask, Call, How, Reply } from "./fault.ts";
import { changesMessage, delivers, noContent } from "./webhooks.ts";

export type SoundServer = {
  /** One sentence that describes the difference. */
  differs: string;
  how: How;
  /** The path before /v1. */
  prefix?: string;
  /** What the deployment declares in certify.yaml. */
  declared?: Declaration;
  /** The verdict that is right for this server, if it is not `certified`. */
  verdict?: "error" | "passed-partially";
  /** Further arguments of the command line. */
  args?: readonly string[];
};

/** A live server whose payouts take so long. */
const liveAfter =
  (ms: number): How =>
  () => ({ settings: { sandbox: false, settleMs: ms } });
/** A live server that sends each webhook after a time. */
const notifiesAfter =
  (ms: number): How =>
  () => ({
    settings: { sandbox: false, settleMs: 0 },
    async webhook(message, deliver) {
      // The server counts the webhook as delivered at once, so that its limit of concurrent deliveries delays no other
      // webhook.
      void sleep(ms).then(() => deliver(message).catch(() => undefined));
      return noContent;
    },
  });

/** Gives every disbursement a final status immediately. */
const ends =
  (status: "success" | "failed"): How =>
  () => ({ merchant: () => ({ outcomeOf: () => ({ status, delayMs: 0 }) }) });
/** A server without the paths that match. */
const lacks = (paths: RegExp, status = 404): How =>
  handles(async (call, ask) => (paths.test(call.path) ? html(status) : ask(call)));

/** Returns the sound server's refusal if the key is the reason. The request lacks an amount, so it cannot pay. */
async function refusedKey(call: Call, ask: Ask, fields: Fields) {
  const reply = await ask(withFields(call, without(fields, "amount")));
  return reply?.status === 401 ? reply : undefined;
}
/** Refuses a request with a key and valid fields if one of its values is outside a limit. */
const limits = (
  exceeds: (fields: Fields) => boolean,
  operations: Operations = "createDisbursement",
  status = 422,
): How =>
  handles(async (call, ask) => {
    const fields = isOf(call, operations) ? fieldsOf(call.body) : undefined;
    if (!fields || !exceeds(fields)) return ask(call);
    return (await refusedKey(call, ask, fields)) ?? refusal(status, "The value is outside what this service accepts.");
  });
const references = (pattern: RegExp) => limits(({ reference }) => isText(reference) && !pattern.test(reference));
const countries = (...served: string[]) =>
  limits(({ country }) => /^[A-Z]{2}$/.test(String(country)) && !served.includes(String(country)), creates);
const phones = (served: RegExp) =>
  limits(({ phoneNumber }) => /^[0-9]{10,15}$/.test(String(phoneNumber)) && !served.test(String(phoneNumber)));

/** Refuses payouts beyond a number per second, for each recipient or for the merchant. */
const velocity =
  (payouts: number, refused: Reply, whom: (fields: Fields) => unknown): How =>
  () => {
    const seen = new Map<unknown, number[]>();
    return handles(async (call, ask) => {
      const fields = disbursementIn(call);
      if (!fields) return ask(call);
      const now = performance.now();
      const recent = (seen.get(whom(fields)) ?? []).filter((time) => time > now - 1000);
      seen.set(whom(fields), recent);
      if (recent.length >= payouts) return (await refusedKey(call, ask, fields)) ?? refused;
      recent.push(now);
      const reply = await ask(call);
      if (reply && !isAccepted(reply)) recent.splice(recent.indexOf(now), 1);
      return reply;
    });
  };

/** Serves every second verify from a replica that lags behind by this time, so that a status may seem to go back. */
const replicas =
  (ms: number): How =>
  () => {
    const known = new Map<unknown, { now?: Reply; before: Reply; until: number }>();
    let count = 0;
    return responses(["createDisbursement", "verifyDisbursement"], (reply, call) => {
      if (!isAccepted(reply)) return reply;
      const until = performance.now() + ms;
      if (isOf(call, "createDisbursement")) known.set(dataOf(reply)["reference"], { before: refusal(404), until });
      const record = isOf(call, "verifyDisbursement") ? known.get(lastPart(call)) : undefined;
      if (!record) return reply;
      if (record.now && dataOf(record.now)["status"] !== dataOf(reply)["status"])
        Object.assign(record, { before: record.now, until });
      record.now = reply;
      return (count += 1) % 2 === 0 && performance.now() < record.until ? record.before : reply;
    });
  };

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
/** Writes service references with a colon and a dot, in texts and links. */
const dotted: How = () => ({
  async handle(call, ask) {
    const reply = await ask({ ...call, path: call.path.replaceAll(/(CHK|DSB)(:|%3A)v1\./g, "$1") });
    if (!reply) return reply;
    const { location } = reply.headers;
    return { ...withHeader(reply, "location", location && withDots(location)), text: withDots(reply.text) };
  },
  webhook: (message, deliver) => deliver({ ...message, body: withDots(message.body) }),
});
/** Refuses a known reference before it looks at the rest of the request. */
const duplicatesFirst: How = () => {
  const used = new Set<string>();
  return handles(async (call, ask) => {
    if (!isOf(call, "createDisbursement")) return ask(call);
    const name = JSON.stringify([keyOf(call), fieldsOf(call.body)?.["reference"]]);
    if (used.has(name)) return refusal(409);
    const reply = await ask(call);
    if (reply && isAccepted(reply)) used.add(name);
    return reply;
  });
};
const isLowerCase = (value: unknown, length: number) =>
  isText(value) && value.length === length && /^[a-z]+$/.test(value);
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
const sound = (differs: string, how: How, rest: Omit<SoundServer, "differs" | "how"> = {}): SoundServer => ({
  differs,
  how,
  ...rest,
});

/** Sound servers with limits. What they declare stands in `declared`; a run must find the other limits. */
export const limitedServers: readonly SoundServer[] = [
  sound(
    "Amounts above 1,000,000 are refused.",
    limits(({ amount }) => Number(amount) > 1_000_000, creates),
  ),
  sound(
    "Amounts above 123,456 are refused with 400.",
    limits(({ amount }) => Number(amount) > 123_456, creates, 400),
  ),
  sound(
    "Amounts above 1,000,000 are refused in KES only.",
    limits(({ amount, currency }) => currency === "KES" && Number(amount) > 1_000_000, creates),
  ),
  sound(
    "Checkouts above 500,000 are refused, payouts are not.",
    limits(({ amount }) => Number(amount) > 500_000, "createCheckout"),
  ),
  sound(
    "References of more than 40 bytes are refused.",
    limits(({ reference }) => Buffer.byteLength(String(reference)) > 40),
  ),
  sound("References may not begin or end with a space or a sign.", references(/^([\p{L}\p{N}](.*[\p{L}\p{N}])?)?$/su)),
  sound("References of more than 20 characters are refused.", references(/^.{0,20}$/su)),
  sound("References may contain only letters, digits, hyphens and underscores.", references(/^[A-Za-z0-9_-]*$/)),
  sound("References have at most 32 letters, digits and hyphens.", references(/^[A-Za-z0-9-]{0,32}$/)),
  sound("Only Ivory Coast and its currency are served.", countries("CI")),
  sound("Only Ivory Coast and Ghana are served.", countries("CI", "GH")),
  sound(
    "A webhookURL must be an https address.",
    limits(({ webhookURL }) => /^http:/i.test(String(webhookURL)), creates),
    // The receiver of the self-test has an http address, so nothing about webhooks can be judged.
    { verdict: "passed-partially" },
  ),
  sound(
    "More than 30 payouts per second are refused with 429.",
    velocity(30, withHeader(refusal(429), "retry-after", "1"), () => "merchant"),
  ),
  sound(
    "More than 10 payouts per second to one recipient are refused with 422.",
    velocity(10, refusal(422), ({ phoneNumber }) => phoneNumber),
    { declared: { velocity: [{ payouts: 10, seconds: 1, per: "recipient" }] } },
  ),
  sound("Verify finds a new disbursement after 300 ms.", readsLate(300)),
  sound("Verify finds a new disbursement after 300 ms, as declared.", readsLate(300), {
    declared: { readAfterWriteMs: 350 },
  }),
  sound("Every second verify shows the record as it was 300 ms ago, as declared.", replicas(300), {
    declared: { readAfterWriteMs: 500, replicas: true },
  }),
  sound("The server is live and webhooks come after twelve seconds.", notifiesAfter(12_000)),
  sound("The server is live and webhooks come after ten seconds, as declared.", notifiesAfter(10_000), {
    declared: { notificationSeconds: 20 },
  }),
  sound("The server is live and payouts stay pending for nine seconds, as declared.", liveAfter(9_000), {
    declared: { settlementSeconds: 20 },
  }),
  sound("Only phone numbers that start with 2257038 are served.", phones(/^2257038/)),
  sound(
    "Only phone numbers of 13 digits that start with 225703 are served, as declared.",
    phones(/^225(703\d{7}|000000\d{4})$/),
    { declared: { numberRanges: ["225703xxxxxxx", "225000000xxxx"] } },
  ),
];

const otherServers: readonly SoundServer[] = [
  sound(
    "Creating a checkout returns 201 and a body of another shape.",
    responses("createCheckout", (reply) => {
      if (!isAccepted(reply)) return reply;
      const { url, reference } = dataOf(reply);
      return { ...withBody(reply, { session: reference, links: [{ rel: "pay", href: url }] }), status: 201 };
    }),
  ),
  sound(
    "A checkout's country and currency may be in lower case, since §2.4 shows no pattern for them.",
    requests("createCheckout", (fields) => ({
      ...fields,
      ...(isLowerCase(fields["country"], 2) ? { country: "CI" } : {}),
      ...(isLowerCase(fields["currency"], 3) ? { currency: "XOF" } : {}),
    })),
  ),
  sound(
    "The page of a finished checkout leads to redirectURL by a meta element instead of a redirect.",
    pages((reply) => {
      const { location } = reply.headers;
      if (!location?.startsWith("https:")) return reply;
      const text = `<meta http-equiv="refresh" content="0; url=${location.replaceAll("&", "&amp;")}">`;
      return { ...html(200), text };
    }),
  ),
  sound(
    "Error texts are in another language.",
    errors("every", (body) => ({ ...body, error: "Non, désolé", message: "Réessayez" })),
  ),
  sound(
    "Errors have no message.",
    errors("every", (body) => without(body, "message")),
  ),
  sound(
    "Every invalid request returns 400, including an unsupported media type and an oversized body.",
    responses("every", (reply) => ([413, 415, 422].includes(reply.status) ? withStatus(reply, 400) : reply)),
  ),
  sound("Every invalid request returns 422.", statuses(described, 400, 422)),
  sound(
    "A 409 has no Location.",
    responses("every", (reply) => (reply.status === 409 ? withHeader(reply, "location") : reply)),
  ),
  sound("The server is live: no forced outcomes and no /sandbox.", liveAfter(0)),
  sound("The sandbox cannot finish a checkout.", lacks(/\/finish$/)),
  sound("The server has no /healthz.", lacks(/^\/healthz$/)),
  sound("The server says that it is a sandbox, but has no /sandbox.", lacks(/^\/sandbox/)),
  sound("The sandbox finishes checkouts, but its clock cannot be moved.", lacks(/^\/sandbox\/clock/)),
  sound(
    "The sandbox lists neither events nor deliveries, and does not show the webhook secret.",
    lacks(/^\/sandbox\/(events|deliveries|webhook-secret)/),
  ),
  sound("The server has no /sandbox, and refuses every unknown path with 405.", lacks(/^\/sandbox/, 405)),
  sound("The server is live and payouts settle after three seconds.", liveAfter(3_000)),
  sound(
    "The server is live and payouts stay pending for a day.",
    () => ({ settings: { sandbox: false }, merchant: () => ({ outcomeOf: () => "pending" }) }),
    // The run ends before a payout settles, so it cannot judge the notification.
    { verdict: "error", args: ["--settle-timeout", "2"] },
  ),
  sound(
    "Webhooks carry no id, timestamp or signature.",
    changesMessage((message) => ({
      ...message,
      headers: { "content-type": "application/json", "user-agent": "other" },
    })),
  ),
  sound(
    "Webhooks have another body and are sent twice.",
    delivers(async (message, deliver) => {
      const { event, data } = fieldsOf(message.body) as { event: string; data: Fields };
      const body = JSON.stringify({ type: event.toUpperCase(), payload: { ref: data["reference"] } });
      await deliver({ ...message, body });
      return deliver({ ...message, body });
    }),
  ),
  sound("Every response has undocumented fields.", responses("every", withMore)),
  sound(
    "A webhookURL that the merchant did not give is null.",
    records((record) => ({ webhookURL: null, ...record })),
  ),
  sound(
    "Every response is delayed by 100 ms.",
    handles(async (call, ask) => {
      await sleep(100);
      return ask(call);
    }),
  ),
  sound(
    "The API has a path prefix.",
    handles(async (call, ask) => {
      const path = call.path.startsWith("/api/payments/") ? call.path.slice("/api/payments".length) : undefined;
      if (path !== undefined) return ask({ ...call, path });
      return call.path.startsWith("/checkouts/") ? ask(call) : html(404);
    }),
    { prefix: "/api/payments" },
  ),
  sound(
    "Responses have no Content-Type.",
    responses("every", (reply) => withHeader(reply, "content-type")),
  ),
  sound(
    "References with characters that nobody sees are refused with 422.",
    refuses(({ reference }) => /[\u00a0\u200b]/.test(String(reference))),
  ),
  sound(
    "Service references have another form and length.",
    otherReferences(() => `pay:${crypto.randomUUID()}~é`),
  ),
  sound("Service references of payouts and checkouts have dots and colons.", dotted),
  sound("A known reference returns 409 before anything else of the request is judged.", duplicatesFirst),
  sound("Every payout succeeds immediately.", ends("success")),
  sound("Every payout fails immediately.", ends("failed")),
  sound(
    "Unknown paths, wrong methods and unsupported media types return HTML pages.",
    responses("every", (reply) =>
      isError(reply) && ![400, 401, 404, 409, 422, 500].includes(reply.status) ? html(reply.status) : reply,
    ),
  ),
  sound(
    "An unknown field is refused.",
    refuses((fields) => extraIn(fields) !== undefined, 400),
  ),
  sound(
    "A phone number of another country is refused. A common country's foreign currency is also refused.",
    requests("createDisbursement", (fields) => (ofOneCountry(fields) ? fields : { ...fields, phoneNumber: "0" })),
  ),
  sound("Requests are limited to 100 per second.", () => ({ settings: { requestsPerSecond: 100 } })),
  sound(
    "The server closes each connection after its response.",
    responses("every", (reply) => withHeader(reply, "connection", "close")),
  ),
];

export const soundServers: readonly SoundServer[] = [...otherServers, ...limitedServers];
