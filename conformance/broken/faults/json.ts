// §1, §4, §7: servers that are careless with JSON and with errors.
import { fault, type Call, type How } from "../fault.ts";
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
/** A disbursement where the body says none, as a lenient server makes one up. */
const madeUp = () => ({ ...sound, reference: `made-up-${(made += 1)}` });

/** Reads more as JSON than is. */
const reads = (lenient: (text: string, body: Buffer) => unknown): How => ({
  handle(call, ask) {
    if (!isOf(call, createDisbursement)) return ask(call);
    const value = lenient(call.body.toString("utf8"), call.body);
    return ask(value === undefined ? call : withFields(call, value));
  },
});

/** What JavaScript, unlike JSON, takes for a value. */
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

/** Errors of one status lose or change something. */
const onStatus = (status: number, change: (body: Fields) => unknown) =>
  errors(payouts, (body, reply) => (reply.status === status ? change(body) : body));

export const jsonFaults = [
  fault("success-as-html", "A payout's answer is announced as HTML.", "json.answers", () =>
    responses(createDisbursement, (reply) =>
      isAccepted(reply) ? withHeader(reply, "content-type", "text/html") : reply,
    ),
  ),
  fault("record-without-type", "A record comes without Content-Type.", "json.answers", () =>
    responses(verifyDisbursement, (reply) => (isAccepted(reply) ? withHeader(reply, "content-type") : reply)),
  ),
  fault("checkout-as-text", "A checkout's answer is announced as text.", "json.answers", () =>
    responses(createCheckout, (reply) => (isAccepted(reply) ? withHeader(reply, "content-type", "text/plain") : reply)),
  ),
  fault("unknown-as-html", "An unknown reference is answered with a page.", "json.answers errors.shape", () =>
    responses(verifyDisbursement, (reply) => (reply.status === 404 ? html(404) : reply)),
  ),
  fault("no-key-as-html", "Without a key there is a page.", "json.answers errors.shape", () =>
    responses(payouts, (reply) => (reply.status === 401 ? html(401) : reply)),
  ),
  fault("duplicate-without-body", "A repeated reference is answered without a body.", "json.answers errors.shape", () =>
    responses(createDisbursement, (reply) => (reply.status === 409 ? { ...reply, text: "" } : reply)),
  ),
  fault("charset-refused", "A charset in Content-Type is refused.", "json.charset-accepted", {
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && String(call.headers["content-type"]).includes("charset")
        ? refusal(415)
        : ask(call),
  }),
  fault("charset-misread", "A charset in Content-Type makes text unreadable.", "json.charset-accepted", {
    handle: (call, ask) =>
      ask(
        isOf(call, createDisbursement) && String(call.headers["content-type"]).includes("charset")
          ? { ...call, body: Buffer.from(call.body.toString("latin1")) }
          : call,
      ),
  }),
  fault(
    "trailing-comma",
    "A comma too many is overlooked.",
    "json.malformed-refused",
    reads((text) => relaxed(text, /,\s*\}$/g, "}")),
  ),
  fault(
    "single-quotes",
    "Text in single quotes is taken for JSON.",
    "json.malformed-refused",
    reads((text) => relaxed(text, /'/g, '"')),
  ),
  fault(
    "not-a-number",
    "NaN is taken for 1.",
    "json.malformed-refused",
    reads((text) => relaxed(text, /NaN/g, "1")),
  ),
  fault(
    "cut-short",
    "An object that was cut short is completed.",
    "json.malformed-refused",
    reads((text) => (text.endsWith(",") ? relaxed(`${text}}`, /,\}$/g, "}") : undefined)),
  ),
  fault(
    "bytes-replaced",
    "Bytes that are no UTF-8 are replaced and then paid.",
    "json.malformed-refused",
    reads((text, body) => (Buffer.from(text).equals(body) ? undefined : fieldsOf(text))),
  ),
  fault(
    "form-taken",
    "A form is taken for a disbursement.",
    "json.malformed-refused",
    reads((text) => {
      const form = Object.fromEntries(new URLSearchParams(text));
      return text.startsWith("reference=") ? { ...form, amount: Number(form["amount"]) } : undefined;
    }),
  ),
  fault("malformed-as-500", "A body that is no JSON is a 500.", "errors.no-5xx", {
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && call.body.length > 0 && bodyOf(call) === undefined ? refusal(500) : ask(call),
  }),
  fault("malformed-unanswered", "A body that is no JSON closes the connection.", "errors.no-5xx", {
    handle: async (call, ask) =>
      isOf(call, createDisbursement) && call.body.length > 0 && bodyOf(call) === undefined ? undefined : ask(call),
  }),
  fault("null-as-500", "The body null is a 500.", "errors.no-5xx", {
    handle: async (call, ask) => (isOf(call, createDisbursement) && bodyOf(call) === null ? refusal(500) : ask(call)),
  }),
  fault("null-field-as-500", "A field that is null is a 500.", "errors.no-5xx", () =>
    instead(
      createDisbursement,
      (fields) => Object.values(fields).includes(null),
      () => refusal(500),
    ),
  ),
  fault("deep-as-500", "A body of many levels is a 500.", "errors.no-5xx", {
    handle: async (call, ask) => (call.body.toString().startsWith("[[[[") ? refusal(500) : ask(call)),
  }),
  fault("encoding-as-500", "A body that is not gzip as announced is a 500.", "errors.no-5xx", {
    handle: async (call, ask) => (call.headers["content-encoding"] === "gzip" ? refusal(500) : ask(call)),
  }),
  fault("method-as-500", "A method that the path does not have is a 500.", "errors.no-5xx", {
    handle: async (call, ask) => (call.method === "DELETE" ? refusal(500) : ask(call)),
  }),
  fault("nul-as-500", "A reference with NUL in it is a 500.", "errors.no-5xx verify.odd-references-404", {
    handle: async (call, ask) =>
      isOf(call, verifyDisbursement) && lastPart(call).includes("\0") ? refusal(500) : ask(call),
  }),
  fault("array-unpacked", "A list of one disbursement is paid.", "json.object-required", {
    handle(call, ask) {
      const body = bodyOf(call);
      return ask(
        isOf(call, createDisbursement) && Array.isArray(body) && body.length === 1 ? withFields(call, body[0]) : call,
      );
    },
  }),
  fault("text-for-object", "A body that is a text counts as a disbursement.", "json.object-required", {
    handle: (call, ask) =>
      ask(isOf(call, createDisbursement) && typeof bodyOf(call) === "string" ? withFields(call, madeUp()) : call),
  }),
  fault("nothing-for-object", "No body at all counts as a disbursement.", "json.body-required", {
    handle: (call, ask) => {
      const headers = { ...call.headers, "content-type": "application/json" };
      return ask(
        isOf(call, createDisbursement) && call.body.length === 0 ? withFields({ ...call, headers }, madeUp()) : call,
      );
    },
  }),
  ...[400, 401, 404, 409, 422].flatMap((status) => [
    fault(`error-missing-${status}`, `A ${status} has no error.`, "errors.shape", () =>
      onStatus(status, (body) => without(body, "error")),
    ),
    fault(`status-not-mirrored-${status}`, `A ${status} says statusCode 500.`, "errors.status-mirrored", () =>
      onStatus(status, (body) => ({ ...body, statusCode: 500 })),
    ),
  ]),
  fault("error-as-object", "The error of an error is an object.", "errors.shape", () =>
    errors(payouts, (body) => ({ ...body, error: { text: body["error"] } })),
  ),
  fault("error-statuscode-as-text", "The statusCode of an error is text.", "errors.shape errors.status-mirrored", () =>
    errors(payouts, (body) => ({ ...body, statusCode: String(body["statusCode"]) })),
  ),
  fault("error-statuscode-missing", "An error has no statusCode.", "errors.shape errors.status-mirrored", () =>
    errors(payouts, (body) => without(body, "statusCode")),
  ),
  fault("error-message-as-list", "The message of an error is a list.", "errors.shape", () =>
    errors(payouts, (body) => ({ ...body, message: [body["message"]] })),
  ),
  fault("error-in-envelope", "Errors lie in an envelope.", "errors.shape", () =>
    errors(payouts, (body) => ({ statusCode: body["statusCode"], data: body })),
  ),
  fault("checkout-error-as-html", "Errors of checkouts are pages.", "errors.checkout-shape", () =>
    responses(createCheckout, (reply) => (isError(reply) ? html(reply.status) : reply)),
  ),
  fault("checkout-error-other", "Errors of checkouts have another shape.", "errors.checkout-shape", () =>
    responses(createCheckout, (reply) => (isError(reply) ? withBody(reply, { code: "E1", reason: "no" }) : reply)),
  ),
  fault("every-error-200", "Errors come with status 200.", "auth.create-needs-key verify.unknown-404", () =>
    responses(described, (reply) => (isError(reply) ? { ...reply, status: 200 } : reply)),
  ),
];
