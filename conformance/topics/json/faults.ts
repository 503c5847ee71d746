// Servers that mishandle JSON bodies and values, media types and errors, or whose responses have the wrong form (§1, §4,
// §7, §9, D2, D6, D15, D20, D53).
import { forEach, through, type Call, type Faults, type How } from "../../broken/fault.ts";
import { errors, forwards, refuses, responses, statuses, texts } from "../../broken/changes.ts";
import {
  asJson,
  creates,
  described,
  extraIn,
  fieldsOf,
  isOf,
  lastPart,
  typeOf,
  withFields,
  without,
  type Fields,
  type Operations,
} from "../../broken/calls.ts";
import { dataOf, html, isAccepted, isError, withBody, withHeader } from "../../broken/replies.ts";

const payouts = ["createDisbursement", "verifyDisbursement"] as const;
const textOf = ({ body }: Call) => body.toString("utf8");

/** Reads the bodies of creates with `lenient`. If `lenient` returns undefined, the request is forwarded unchanged. */
const reads = (lenient: (text: string, call: Call) => unknown, operation: Operations = "createDisbursement"): How =>
  forwards((call) => {
    const value = isOf(call, operation) ? lenient(textOf(call), call) : undefined;
    return value === undefined ? call : withFields(asJson(call), value);
  });
/** Reads matching bodies with `JSON.parse`, which keeps the last of two equal keys and rounds long fractions. */
const parses = (pattern: RegExp) => reads((text) => (pattern.test(text) ? fieldsOf(text) : undefined), creates);

/** Declares another media type in successful responses. */
const declares = (operation: Operations, type?: string) =>
  responses(operation, (reply) => (isAccepted(reply) ? withHeader(reply, "content-type", type) : reply));
/** Changes the body of errors with this status. */
const onStatus = (status: number, change: (body: Fields) => unknown) =>
  errors(payouts, (body, reply) => (reply.status === status ? change(body) : body));
/** Fails at matching requests for these operations. */
const fails = (operation: Operations, fits: (call: Call) => boolean) =>
  refuses((_, call) => fits(call), 500, operation);

const documented = [400, 401, 404, 409, 422];

export const faults: Faults = {
  "json.content-type: The verify response has no Content-Type.": through(
    "reads.verify-changes-nothing",
    declares("verifyDisbursement"),
  ),
  "json.media-type: The create response has Content-Type text/html.": declares("createDisbursement", "text/html"),
  "json.no-unasked-continue: A 100 Continue precedes each record.": responses("verifyDisbursement", (reply) => ({
    ...reply,
    continued: true,
  })),
  "json.answers: An unknown reference returns an HTML page.": responses("verifyDisbursement", (reply) =>
    reply.status === 404 ? html(404) : reply,
  ),
  "json.answers: A client that accepts text/html gets errors as HTML.": through(
    "records.as-requested",
    responses(payouts, (reply, { headers }) =>
      String(headers["accept"]).includes("text/html") && isError(reply) && reply.status !== 401
        ? html(reply.status)
        : reply,
    ),
  ),
  "json.charset-accepted: A charset in Content-Type is refused.": refuses(
    (_, call) => typeOf(call).includes("charset"),
    415,
  ),
  "json.charset-accepted: A charset in Content-Type makes the server decode the body as Latin-1.": forwards((call) =>
    isOf(call, "createDisbursement") && typeOf(call).includes("charset")
      ? { ...call, body: Buffer.from(call.body.toString("latin1")) }
      : call,
  ),
  "json.malformed-refused: Single quotes are accepted.": reads((text) =>
    fieldsOf(text) === undefined ? fieldsOf(text.replaceAll("'", '"')) : undefined,
  ),
  "json.malformed-refused: Invalid UTF-8 is replaced and the payout made.": reads((text, { body }) =>
    Buffer.from(text).equals(body) ? undefined : fieldsOf(text),
  ),
  "json.object-required: An array with one disbursement is accepted.": reads((text) =>
    fieldsOf(/^\[(.*)\]$/.exec(text)?.[1] ?? ""),
  ),
  "json.body-required: An empty body is accepted.": reads((text) =>
    text === ""
      ? { reference: crypto.randomUUID(), amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF" }
      : undefined,
  ),
  "errors.no-5xx: A malformed body returns 500.": fails("createDisbursement", (call) =>
    /^[^{["\dntf]/.test(textOf(call)),
  ),
  "errors.no-5xx: A reference with a NUL character returns 500.": fails("verifyDisbursement", (call) =>
    lastPart(call).includes("\0"),
  ),
  ...forEach(documented, (status) => [
    `errors.shape: A ${status} has no field error.`,
    onStatus(status, (body) => without(body, "error")),
  ]),
  ...forEach(documented, (status) => [
    `errors.status-mirrored: The body of a ${status} has the statusCode 500.`,
    onStatus(status, (body) => ({ ...body, statusCode: 500 })),
  ]),
  "errors.checkout-shape: Checkout errors are HTML pages.": responses("createCheckout", (reply) =>
    isError(reply) ? html(reply.status) : reply,
  ),
  "auth.create-needs-key: Errors have the status 200.": responses(described, (reply) =>
    isError(reply) ? { ...reply, status: 200 } : reply,
  ),
  "json-values.unknown-ignored: A checkout with an unknown field is refused.": refuses(
    (fields) => extraIn(fields) !== undefined,
    400,
    "createCheckout",
  ),
  "json-values.lone-surrogate: Half of a surrogate pair in a reference becomes a replacement character.": texts(
    "createDisbursement",
    "reference",
    (text) => text.toWellFormed(),
  ),
  "json-values.duplicate-key: If a key has two values, the last value counts.": parses(/"(amount|country)":.*"\1":/),
  "json-values.inexact-fraction: A tiny fraction in an amount is rounded away.": parses(/"amount":\d+\.0+[1-9]/),
  "json-values.exact-integer: An amount of 100.0 is refused.": refuses(
    (_, call) => /"amount":\d+\.0\b/.test(textOf(call)),
    400,
    creates,
  ),
  "answers.exact: An unknown reference returns 418.": statuses("verifyDisbursement", 404, 418),
  "answers.envelope-200: The envelope of a successful response has no statusCode.": responses(described, (reply) =>
    isAccepted(reply) ? withBody(reply, { data: dataOf(reply) }) : reply,
  ),
  "answers.headers: Every error has Retry-After: undefined.": through(
    "refusal.bad-value-422",
    responses("every", (reply) => (isError(reply) ? withHeader(reply, "retry-after", "undefined") : reply)),
  ),
  "answers.request-id: Responses have no x-request-id.": responses("every", (reply) =>
    withHeader(reply, "x-request-id"),
  ),
  "answers.request-id-own: All responses have the same x-request-id.": responses("every", (reply) =>
    withHeader(reply, "x-request-id", "req_0000000000000000"),
  ),
  "answers.request-id-own: The response has the x-request-id of its request.": responses(
    "every",
    (reply, { headers }) => {
      const given = headers["x-request-id"];
      return given === undefined ? reply : withHeader(reply, "x-request-id", String(given));
    },
  ),
};
