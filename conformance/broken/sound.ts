// Sound servers that differ from the model where the interface is silent, or have limits that §8 leaves open (D45). Each
// must be certified, unless its entry states another verdict.
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import type { Declaration } from "../allowances/declaration.ts";
import { commonPairs, dollars } from "../generate/countries.ts";
import { Problem } from "../model/problem.ts";
import { described, extraIn, fieldsOf, isOf, isText, keyOf, lastPart, sent, without, type Fields } from "./calls.ts";
import { dataOf, html, isAccepted, isError, refusal, withBody, withHeader, withStatus } from "./replies.ts";
import { errors, handles, pages, records, refuses, requests, responses, statuses } from "./changes.ts";
import { otherReferences, readsLate, refusesNamesakes } from "./memory.ts";
import type { How, Reply } from "./fault.ts";
import { changesMessage, delivers } from "./webhooks.ts";

type Schemas = components["schemas"];
type Payout = Schemas["DisbursementRequest"];

export type SoundServer = {
  /** One sentence that describes the difference. */
  differs: string;
  how: How;
  /** What the deployment declares in certify.yaml. */
  declared?: Declaration;
  /** The verdict that is right for this server, if it is not `certified`. */
  verdict?: "error" | "passed-partially";
  /** Further arguments of the command line. */
  args?: readonly string[];
};

const listed = (servers: Record<string, How | Omit<SoundServer, "differs">>): SoundServer[] =>
  Object.entries(servers).map(([differs, server]) => ({
    differs,
    ...(typeof server === "function" ? { how: server } : server),
  }));

const outside = new Problem("limit_exceeded", "The value is outside what this service accepts.");
/** Refuses valid payouts that are outside a limit, and checkouts if they have a limit too. */
const limits =
  (
    exceeds: (payout: Payout) => boolean,
    ofCheckouts: (checkout: Schemas["CheckoutRequest"]) => boolean = () => false,
    why = outside,
  ): How =>
  () => ({
    merchant: ({ addDisbursement, addCheckout }) => ({
      addDisbursement(payout) {
        if (exceeds(payout)) throw why;
        return addDisbursement(payout);
      },
      addCheckout(checkout) {
        if (ofCheckouts(checkout)) throw why;
        return addCheckout(checkout);
      },
    }),
  });
type Payment = { amount: number; country: string; currency: string; webhookURL?: string };
/** Refuses valid payouts and checkouts that are outside a limit. */
const limitsBoth = (exceeds: (payment: Payment) => boolean, why = outside) => limits(exceeds, exceeds, why);
const references = (pattern: RegExp) => limits(({ reference }) => !pattern.test(reference));
const phones = (served: RegExp) => limits(({ phoneNumber }) => !served.test(phoneNumber));
const countries = (...served: string[]) => limitsBoth(({ country }) => !served.includes(country));

/** Returns a function that returns true if it was called with the same name more often than this within a second. */
function beyondPerSecond(most: number) {
  const seen = new Map<string, number[]>();
  return (name: string) => {
    const now = performance.now();
    const recent = (seen.get(name) ?? []).filter((time) => time > now - 1000);
    if (recent.length < most) seen.set(name, [...recent, now]);
    return recent.length >= most;
  };
}

/** A live server whose payouts settle after `ms` milliseconds. */
const liveAfter =
  (ms: number): How =>
  () => ({ settings: { sandbox: false, settleMs: ms } });
/** A live server that sends each webhook `ms` milliseconds late. */
const notifiesAfter =
  (ms: number): How =>
  () => ({
    settings: { sandbox: false, settleMs: 0 },
    webhook: async (message, deliver) => (await sleep(ms), deliver(message)),
  });
/** Gives every disbursement a final status immediately. */
const ends =
  (status: "success" | "failed"): How =>
  () => ({ merchant: () => ({ outcomeOf: () => ({ status, delayMs: 0 }) }) });
/** A server without the paths that match. */
const lacks = (paths: RegExp): How => handles(async (call, ask) => (paths.test(call.path) ? html(404) : ask(call)));

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
      if (record.now && dataOf(record.now)["status"] !== dataOf(reply)["status"]) {
        const changedAt = Date.parse(String(dataOf(reply)["updatedAt"]));
        // A moved clock is ahead of the change.
        Object.assign(record, { before: record.now, until: until - Math.max(0, Date.now() - changedAt) });
      }
      record.now = reply;
      return (count += 1) % 2 === 0 && performance.now() < record.until ? record.before : reply;
    });
  };

const pairs = [dollars, ...commonPairs];
/** Returns true if phone number, country and currency belong together, or if the server knows none of them. */
function ofOneCountry({ phoneNumber, country, currency }: Payout): boolean {
  const own = pairs.find((pair) => pair.country === country);
  const dialled = pairs.find(({ code }) => phoneNumber.startsWith(code));
  return own === dialled && (own === undefined || own.currency === currency);
}

const isLowerCase = (value: unknown, length: number) =>
  isText(value) && value.length === length && /^[a-z]+$/.test(value);
const extended = (fields: Fields): Fields => ({
  redirectURL: [],
  ...fields,
  extra: { nested: [1, null, "x"] },
  note: null,
});
/** Sound servers with limits. A run must find the limits that a server does not declare. */
export const limitedServers: readonly SoundServer[] = listed({
  "Amounts above 123,456 are refused with 400.": limitsBoth(
    ({ amount }) => amount > 123_456,
    new Problem("invalid_request", "The amount is too large."),
  ),
  "Amounts above 1,000,000 are refused in KES only.": limitsBoth(
    ({ amount, currency }) => currency === "KES" && amount > 1_000_000,
  ),
  "Checkouts above 500,000 are refused, payouts are not.": limits(
    () => false,
    ({ amount }) => amount > 500_000,
  ),
  "References of more than 40 bytes are refused.": limits(({ reference }) => Buffer.byteLength(reference) > 40),
  "References may not begin or end with a space or a sign.": references(/^([\p{L}\p{N}](.*[\p{L}\p{N}])?)?$/su),
  "References of more than 20 characters are refused.": references(/^.{0,20}$/su),
  "References have at most 32 letters, digits and hyphens.": references(/^[A-Za-z0-9-]{0,32}$/),
  "Only Ivory Coast and its currency are served.": countries("CI"),
  "Only Ivory Coast and Ghana are served.": countries("CI", "GH"),
  // The receiver of the self-test has an http address, so nothing about webhooks can be judged.
  "A webhookURL must be an https address.": {
    how: limitsBoth(({ webhookURL = "" }) => /^http:/i.test(webhookURL)),
    verdict: "passed-partially",
  },
  "More than 10 payouts per second to one recipient are refused with 422, as declared.": {
    how() {
      const isBeyond = beyondPerSecond(10);
      return limits(({ phoneNumber }) => isBeyond(phoneNumber));
    },
    declared: { velocity: [{ payouts: 10, seconds: 1, per: "recipient" }] },
  },
  "Verify finds a new disbursement after 300 ms.": readsLate(300),
  "Every second verify shows the record as it was 300 ms ago, as declared.": {
    how: replicas(300),
    declared: { readAfterWriteMs: 500, replicas: true },
  },
  "The server is live and webhooks come after twelve seconds.": notifiesAfter(12_000),
  "The server is live and webhooks come after ten seconds, as declared.": {
    how: notifiesAfter(10_000),
    declared: { notificationSeconds: 20 },
  },
  "The server is live and payouts stay pending for nine seconds, as declared.": {
    how: liveAfter(9_000),
    declared: { settlementSeconds: 20 },
  },
  "Only phone numbers that start with 2257038 are served.": phones(/^2257038/),
  "Only phone numbers of 13 digits that start with 225703 are served, as declared.": {
    how: phones(/^225(703\d{7}|000000\d{4})$/),
    declared: { numberRanges: ["225703xxxxxxx", "225000000xxxx"] },
  },
});

const otherServers = listed({
  "Creating a checkout returns 201 and a body of another shape.": responses("createCheckout", (reply) => {
    if (!isAccepted(reply)) return reply;
    const { url, reference } = dataOf(reply);
    return { ...withBody(reply, { session: reference, links: [{ rel: "pay", href: url }] }), status: 201 };
  }),
  "A checkout's country and currency may be in lower case, since §2.4 shows no pattern for them.": requests(
    "createCheckout",
    (fields) => ({
      ...fields,
      ...(isLowerCase(fields["country"], 2) ? { country: "CI" } : {}),
      ...(isLowerCase(fields["currency"], 3) ? { currency: "XOF" } : {}),
    }),
  ),
  "The page of a finished checkout leads to redirectURL by a meta element instead of a redirect.": pages((reply) => {
    const { location } = reply.headers;
    if (!location?.startsWith("https:")) return reply;
    const text = `<meta http-equiv="refresh" content="0; url=${location.replaceAll("&", "&amp;")}">`;
    return { ...html(200), text };
  }),
  "Errors have no message, and their texts are in another language.": errors("every", (body) => ({
    ...without(body, "message"),
    error: "Non, désolé",
  })),
  "Every invalid request returns 400, including an unsupported media type and an oversized body.": responses(
    "every",
    (reply) => ([413, 415, 422].includes(reply.status) ? withStatus(reply, 400) : reply),
  ),
  "Every invalid request returns 422.": statuses(described, 400, 422),
  "A 409 has no Location.": responses("every", (reply) =>
    reply.status === 409 ? withHeader(reply, "location") : reply,
  ),
  "The server is live: no forced outcomes and no /sandbox.": liveAfter(0),
  "The sandbox cannot finish a checkout.": lacks(/\/finish$/),
  "The server has no /healthz.": lacks(/^\/healthz$/),
  "The server says that it is a sandbox, but has no /sandbox.": lacks(/^\/sandbox/),
  "The sandbox finishes checkouts, but its clock cannot be moved.": lacks(/^\/sandbox\/clock/),
  "The sandbox lists neither events nor deliveries, and does not show the webhook secret.": lacks(
    /^\/sandbox\/(events|deliveries|webhook-secret)/,
  ),
  "The server is live and payouts stay pending for a day.": {
    how: liveAfter(86_400_000),
    // The run ends before a payout settles, so it cannot judge the notification.
    verdict: "error",
    args: ["--settle-timeout", "2"],
  },
  "Webhooks carry no id, timestamp or signature.": changesMessage((message) => ({
    ...message,
    headers: { "content-type": "application/json", "user-agent": "other" },
  })),
  "Webhooks have another body and are sent twice.": delivers(async (message, deliver) => {
    const { event, data } = fieldsOf(message.body) as { event: string; data: Fields };
    const body = JSON.stringify({ type: event.toUpperCase(), payload: { ref: data["reference"] } });
    await deliver({ ...message, body });
    return deliver({ ...message, body });
  }),
  "Every response has undocumented fields.": responses("every", (reply) => {
    const body = fieldsOf(reply.text);
    return body
      ? withBody(reply, extended("data" in body ? { ...body, data: extended(body["data"] as Fields) } : body))
      : reply;
  }),
  "A webhookURL that the merchant did not give is null.": records((record) => ({ webhookURL: null, ...record })),
  "Every response is delayed by 100 ms.": handles(async (call, ask) => (await sleep(100), ask(call))),
  "Responses have no Content-Type.": responses("every", (reply) => withHeader(reply, "content-type")),
  "References with characters that nobody sees are refused with 422.": refuses(({ reference }) =>
    /[\u00a0\u200b]/.test(String(reference)),
  ),
  "Service references have another form and length.": otherReferences(() => `pay:${crypto.randomUUID()}~é`),
  "A known reference returns 409 before anything else of the request is judged.": refusesNamesakes(
    (call) => (isOf(call, "createDisbursement") ? `${keyOf(call)} ${String(sent(call)["reference"])}` : undefined),
    () => Symbol("never the same owner"),
  ),
  "Every payout succeeds immediately.": ends("success"),
  "Every payout fails immediately.": ends("failed"),
  "Unknown paths, wrong methods and unsupported media types return HTML pages.": responses("every", (reply) =>
    isError(reply) && ![400, 401, 404, 409, 422, 500].includes(reply.status) ? html(reply.status) : reply,
  ),
  "An unknown field is refused.": refuses((fields) => extraIn(fields) !== undefined, 400),
  "A phone number of another country is refused. A common country's foreign currency is also refused.": limits(
    (payout) => !ofOneCountry(payout),
  ),
  "Requests are limited to 100 per second.": () => {
    const isBeyond = beyondPerSecond(100);
    return refuses(() => isBeyond("all"), withHeader(refusal(429), "retry-after", "1"), "every");
  },
  "The server closes each connection after its response.": responses("every", (reply) =>
    withHeader(reply, "connection", "close"),
  ),
});

export const soundServers: readonly SoundServer[] = [...otherServers, ...limitedServers];
