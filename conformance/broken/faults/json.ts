// Servers that mishandle JSON bodies and errors (§1, §4, §7).
import { type Fault, fault, type Call, type Hooks, quickFault } from "../fault.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  described,
  errors,
  fieldsOf,
  html,
  instead,
  isAccepted,
  isError,
  isOf,
  lastPart,
  refusal,
  verifyDisbursement,
  withBody,
  withFields,
  withHeader,
  without,
  type Fields,
} from "../ways.ts";

const payouts = [createDisbursement, verifyDisbursement];

const sound = { amount: 100, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
let made = 0;
/** Returns a default disbursement, which a lenient server might use for a body that is not an object. */
const madeUp = () => ({ ...sound, reference: `made-up-${(made += 1)}` });

/** Parses the bodies of creates with `lenient`. If `lenient` returns undefined, the request is forwarded unchanged. */
const reads = (lenient: (text: string, body: Buffer) => unknown): Hooks => ({
  handle(call, ask) {
    if (!isOf(call, createDisbursement)) return ask(call);
    const value = lenient(call.body.toString("utf8"), call.body);
    return ask(value === undefined ? call : withFields(call, value));
  },
});

/**
 * Parses a text that is not a JSON object, but becomes a JSON object when matches of the pattern are replaced. Returns
 * undefined for any other text.
 */
const relaxed = (text: string, pattern: RegExp, replacement: string) =>
  pattern.test(text) && fieldsOf(text) === undefined ? fieldsOf(text.replaceAll(pattern, replacement)) : undefined;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const bodyOf = ({ body }: Call) => parsed(body.toString("utf8"));

/** Changes the body of error responses with this status. */
const onStatus = (status: number, change: (body: Fields) => unknown) =>
  errors(payouts, (body, reply) => (reply.status === status ? change(body) : body));

export const faults: readonly Fault[] = [
  fault(
    "success-as-html",
    "The create response has Content-Type text/html.",
    "json.content-type json.media-type answers.exact",
    () =>
      responses(createDisbursement, (reply) =>
        isAccepted(reply) ? withHeader(reply, "content-type", "text/html") : reply,
      ),
  ),
  fault("unasked-continue", "A 100 Continue precedes each record.", "json.no-unasked-continue", () =>
    responses(verifyDisbursement, (reply) => ({ ...reply, continued: true })),
  ),
  quickFault(
    "record-without-type",
    "The verify response has no Content-Type.",
    "json.content-type",
    () => responses(verifyDisbursement, (reply) => (isAccepted(reply) ? withHeader(reply, "content-type") : reply)),
    "reads.verify-changes-nothing",
  ),
  fault(
    "checkout-as-text",
    "The checkout response has Content-Type text/plain.",
    "json.content-type json.media-type",
    () =>
      responses(createCheckout, (reply) =>
        isAccepted(reply) ? withHeader(reply, "content-type", "text/plain") : reply,
      ),
  ),
  fault(
    "duplicate-declared-as-html",
    "The 409 for a duplicate reference is JSON with Content-Type text/html.",
    "json.media-type",
    () =>
      responses(createDisbursement, (reply) =>
        reply.status === 409 ? withHeader(reply, "content-type", "text/html; charset=utf-8") : reply,
      ),
    "create.duplicate-refused",
  ),
  fault("unknown-as-html", "An unknown reference returns an HTML page.", "json.answers errors.shape", () =>
    responses(verifyDisbursement, (reply) => (reply.status === 404 ? html(404) : reply)),
  ),
  fault("no-key-as-html", "A request without a key returns an HTML page.", "json.answers errors.shape", () =>
    responses(payouts, (reply) => (reply.status === 401 ? html(401) : reply)),
  ),
  fault("duplicate-without-body", "The 409 for a duplicate reference has no body.", "json.answers errors.shape", () =>
    responses(createDisbursement, (reply) => (reply.status === 409 ? { ...reply, text: "" } : reply)),
  ),
  fault("charset-refused", "A charset in Content-Type is refused.", "json.charset-accepted", () => ({
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && String(call.headers["content-type"]).includes("charset")
        ? refusal(415)
        : ask(call),
  })),
  fault(
    "charset-misread",
    "A charset in Content-Type makes the server decode the body as Latin-1.",
    "json.charset-accepted",
    () => ({
      handle: (call, ask) =>
        ask(
          isOf(call, createDisbursement) && String(call.headers["content-type"]).includes("charset")
            ? { ...call, body: Buffer.from(call.body.toString("latin1")) }
            : call,
        ),
    }),
  ),
  fault("trailing-comma", "A trailing comma is accepted.", "json.malformed-refused", () =>
    reads((text) => relaxed(text, /,\s*\}$/g, "}")),
  ),
  fault("single-quotes", "Single quotes are accepted.", "json.malformed-refused", () =>
    reads((text) => relaxed(text, /'/g, '"')),
  ),
  fault("not-a-number", "NaN is read as 1.", "json.malformed-refused", () =>
    reads((text) => relaxed(text, /NaN/g, "1")),
  ),
  fault("truncated-object", "A truncated object is completed.", "json.malformed-refused", () =>
    reads((text) => (text.endsWith(",") ? relaxed(`${text}}`, /,\}$/g, "}") : undefined)),
  ),
  fault("bytes-replaced", "Invalid UTF-8 is replaced and the payout made.", "json.malformed-refused", () =>
    reads((text, body) => (Buffer.from(text).equals(body) ? undefined : fieldsOf(text))),
  ),
  fault("form-accepted", "A URL-encoded form is accepted.", "json.malformed-refused", () =>
    reads((text) => {
      const form = Object.fromEntries(new URLSearchParams(text));
      return text.startsWith("reference=") ? { ...form, amount: Number(form["amount"]) } : undefined;
    }),
  ),
  quickFault("malformed-as-500", "A malformed body returns 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && call.body.length > 0 && bodyOf(call) === undefined ? refusal(500) : ask(call),
  })),
  fault("malformed-connection-closed", "A malformed body closes the connection.", "errors.no-5xx", () => ({
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && call.body.length > 0 && bodyOf(call) === undefined ? undefined : ask(call),
  })),
  fault("null-as-500", "A null body returns 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) => (isOf(call, createDisbursement) && bodyOf(call) === null ? refusal(500) : ask(call)),
  })),
  fault("null-field-as-500", "A null field returns 500.", "errors.no-5xx", () =>
    instead(
      createDisbursement,
      (fields) => Object.values(fields).includes(null),
      () => refusal(500),
    ),
  ),
  fault("deep-as-500", "A deeply nested body returns 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) => (call.body.toString().startsWith("[[[[") ? refusal(500) : ask(call)),
  })),
  fault("encoding-as-500", "Content-Encoding gzip with a body that is not gzip returns 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) => (call.headers["content-encoding"] === "gzip" ? refusal(500) : ask(call)),
  })),
  fault("method-as-500", "A wrong method returns 500.", "errors.no-5xx", () => ({
    handle: async (call, ask) => (call.method === "DELETE" ? refusal(500) : ask(call)),
  })),
  fault(
    "nul-as-500",
    "A reference with a NUL character returns 500.",
    "errors.no-5xx verify.odd-references-404",
    () => ({
      handle: async (call, ask) =>
        isOf(call, verifyDisbursement) && lastPart(call).includes("\0") ? refusal(500) : ask(call),
    }),
  ),
  fault("array-unpacked", "An array with one disbursement is accepted.", "json.object-required", () => ({
    handle(call, ask) {
      const body = bodyOf(call);
      return ask(
        isOf(call, createDisbursement) && Array.isArray(body) && body.length === 1 ? withFields(call, body[0]) : call,
      );
    },
  })),
  fault("text-for-object", "A string body is accepted.", "json.object-required", () => ({
    handle: (call, ask) =>
      ask(isOf(call, createDisbursement) && typeof bodyOf(call) === "string" ? withFields(call, madeUp()) : call),
  })),
  fault("nothing-for-object", "An empty body is accepted.", "json.body-required", () => ({
    handle: (call, ask) => {
      const headers = { ...call.headers, "content-type": "application/json" };
      return ask(
        isOf(call, createDisbursement) && call.body.length === 0 ? withFields({ ...call, headers }, madeUp()) : call,
      );
    },
  })),
  ...[400, 401, 404, 409, 422].flatMap((status) => [
    fault(`error-missing-${status}`, `A ${status} has no field error.`, "errors.shape", () =>
      onStatus(status, (body) => without(body, "error")),
    ),
    fault(
      `status-not-mirrored-${status}`,
      `The body of a ${status} has the statusCode 500.`,
      "errors.status-mirrored",
      () => onStatus(status, (body) => ({ ...body, statusCode: 500 })),
    ),
  ]),
  fault("error-as-object", "The error field is an object.", "errors.shape", () =>
    errors(payouts, (body) => ({ ...body, error: { text: body["error"] } })),
  ),
  fault(
    "error-statuscode-as-text",
    "The statusCode of an error is a string.",
    "errors.shape errors.status-mirrored",
    () => errors(payouts, (body) => ({ ...body, statusCode: String(body["statusCode"]) })),
  ),
  fault("error-statuscode-missing", "An error has no statusCode.", "errors.shape errors.status-mirrored", () =>
    errors(payouts, (body) => without(body, "statusCode")),
  ),
  fault("error-message-as-list", "The message of an error is an array.", "errors.shape", () =>
    errors(payouts, (body) => ({ ...body, message: [body["message"]] })),
  ),
  fault("error-in-envelope", "Errors are wrapped in an envelope.", "errors.shape", () =>
    errors(payouts, (body) => ({ statusCode: body["statusCode"], data: body })),
  ),
  fault("checkout-error-as-html", "Checkout errors are HTML pages.", "errors.checkout-shape", () =>
    responses(createCheckout, (reply) => (isError(reply) ? html(reply.status) : reply)),
  ),
  fault("checkout-error-other", "Checkout errors have the wrong shape.", "errors.checkout-shape", () =>
    responses(createCheckout, (reply) => (isError(reply) ? withBody(reply, { code: "E1", reason: "no" }) : reply)),
  ),
  fault("every-error-200", "Errors have the status 200.", "auth.create-needs-key verify.unknown-404", () =>
    responses(described, (reply) => (isError(reply) ? { ...reply, status: 200 } : reply)),
  ),
];
