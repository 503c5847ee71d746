// D1, D2, D15: servers that refuse in the wrong way, and answers that break the document.
import { fault, type Call, type How } from "../fault.ts";
import {
  answers,
  checkout,
  create,
  described,
  errors,
  fieldsOf,
  instead,
  isAccepted,
  isError,
  isOf,
  keyOf,
  refusal,
  verify,
  withBody,
  withHeader,
  withStatus,
  without,
  type Fields,
} from "../ways.ts";

const payments = [create, checkout];

/** A refusal with one status becomes one with another, where the request fits. */
const becomes = (
  from: number,
  to: number,
  fits: (fields: Fields | undefined, call: Call) => boolean = () => true,
): How =>
  answers(payments, (reply, call) =>
    reply.status === from && fits(fieldsOf(call.body), call) ? withStatus(reply, to) : reply,
  );
const fields = ["reference", "amount", "phoneNumber", "country", "currency"];
const lacks = (body: Fields | undefined) => body !== undefined && fields.some((field) => body[field] === undefined);
/** Every error, of whatever path and method. */
const everyError = (change: (body: Fields) => unknown): How => errors("every", change);
const ofStatus = (status: number, change: (body: Fields) => unknown): How =>
  errors("every", (body, reply) => (reply.status === status ? change(body) : body));
const before = (fits: (call: Call) => boolean, status: number): How => ({
  handle: async (call, ask) => (fits(call) ? refusal(status) : ask(call)),
});
const withoutKey = (call: Call) => keyOf(call) === undefined;
const type = ({ headers }: Call) => String(headers["content-type"] ?? "");
const known = (path: string) => /^\/(v1|sandbox|healthz|readyz|checkouts)\b/.test(path);

export const refusalFaults = [
  fault(
    "malformed-422",
    "A body that is no JSON is a 422.",
    "refusal.malformed-400",
    becomes(400, 422, (body) => body === undefined),
  ),
  fault(
    "checkout-malformed-422",
    "A checkout whose body is no JSON is a 422.",
    "refusal.malformed-400",
    answers(checkout, (reply, call) =>
      reply.status === 400 && fieldsOf(call.body) === undefined ? withStatus(reply, 422) : reply,
    ),
  ),
  fault("missing-422", "A missing field is a 422.", "refusal.missing-field-400", becomes(400, 422, lacks)),
  fault(
    "checkout-missing-422",
    "A missing field of a checkout is a 422.",
    "refusal.missing-field-400",
    answers(checkout, (reply, call) =>
      reply.status === 400 && fieldsOf(call.body) !== undefined ? withStatus(reply, 422) : reply,
    ),
  ),
  fault(
    "type-422",
    "A wrong type is a 422.",
    "refusal.wrong-type-400",
    becomes(400, 422, (body) => body !== undefined && !lacks(body)),
  ),
  fault("value-400", "A bad value is a 400.", "refusal.bad-value-422", becomes(422, 400)),
  fault(
    "checkout-value-400",
    "A bad value of a checkout is a 400.",
    "refusal.bad-value-422 checkout-request.generated-refused",
    answers(checkout, (reply) => (reply.status === 422 ? withStatus(reply, 400) : reply)),
  ),
  fault(
    "address-400",
    "An address that is no URI is a 400.",
    "refusal.bad-value-422 addresses.refused",
    becomes(422, 400, (body) => body?.["webhookURL"] !== undefined),
  ),
  fault(
    "mixed-422",
    "Where one field calls for 400 and another for 422, it is 422.",
    "refusal.mixed-400",
    becomes(
      400,
      422,
      (body) => body !== undefined && (body["phoneNumber"] !== "2257038102473" || body["country"] === "ci"),
    ),
  ),
  fault("text-taken", "JSON that is announced as text is taken.", "refusal.media-type-415", {
    handle: (call, ask) =>
      ask(
        type(call) === "text/plain"
          ? { ...call, headers: { ...call.headers, "content-type": "application/json" } }
          : call,
      ),
  }),
  fault("untyped-taken", "JSON that is not announced is taken.", "refusal.media-type-415", {
    handle: (call, ask) =>
      ask(
        isOf(call, payments) && type(call) === ""
          ? { ...call, headers: { ...call.headers, "content-type": "application/json" } }
          : call,
      ),
  }),
  fault("media-type-400", "Another media type is a 400.", "refusal.media-type-415", becomes(415, 400)),
  fault(
    "unknown-path-401",
    "An unknown path asks for a key first.",
    "refusal.unknown-path-404",
    before((call) => withoutKey(call) && !known(call.path), 401),
  ),
  fault(
    "unknown-path-200",
    "An unknown path is answered with 200.",
    "refusal.unknown-path-404",
    before(({ path }) => path === "/nothing", 200),
  ),
  fault("path-in-any-case", "Paths are taken in any case.", "refusal.unknown-path-404", {
    handle: (call, ask) => ask({ ...call, path: call.path.replace(/^\/V1/, "/v1") }),
  }),
  fault("method-404", "A method that the path does not have is a 404.", "refusal.wrong-method-405", {
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.status === 405 ? withStatus(reply, 404) : reply;
    },
  }),
  fault(
    "allow-missing",
    "A 405 has no Allow.",
    "refusal.wrong-method-405",
    answers("every", (reply) => withHeader(reply, "allow")),
  ),
  fault(
    "allow-everything",
    "Allow names methods that are not allowed.",
    "refusal.wrong-method-405",
    answers("every", (reply) =>
      reply.status === 405 ? withHeader(reply, "allow", "GET, POST, PUT, PATCH, DELETE") : reply,
    ),
  ),
  fault(
    "key-before-method",
    "The key is looked at before the method.",
    "refusal.order",
    before((call) => withoutKey(call) && call.method === "DELETE", 401),
  ),
  fault(
    "key-before-path",
    "The key is looked at before the path.",
    "refusal.order refusal.unknown-path-404",
    before((call) => withoutKey(call) && call.path === "/v1/nothing", 401),
  ),
  fault(
    "size-before-key",
    "The size is looked at before the key.",
    "refusal.order",
    before((call) => withoutKey(call) && call.body.length > 16_384, 413),
  ),
  fault(
    "type-before-key",
    "The media type is looked at before the key.",
    "refusal.order",
    before((call) => withoutKey(call) && type(call) === "text/plain", 415),
  ),
  fault(
    "type-before-size",
    "The media type is looked at before the size.",
    "refusal.order",
    before((call) => !withoutKey(call) && type(call) === "text/plain" && call.body.length > 16_384, 415),
  ),
  fault(
    "form-before-type",
    "The form is looked at before the media type.",
    "refusal.order",
    before((call) => type(call) === "text/plain" && call.body.toString() === "not json", 400),
  ),
  fault("duplicate-before-value", "The reference is looked at before the values.", "refusal.order", () => {
    const used = new Set<unknown>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, create) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (reference !== undefined && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (reply && isAccepted(reply)) used.add(reference);
        return reply;
      },
    };
  }),
  fault(
    "message-missing",
    "Errors have no message.",
    "error-body.message",
    everyError((body) => without(body, "message")),
  ),
  fault(
    "message-empty",
    "The message of an error is empty.",
    "error-body.message",
    everyError((body) => ({ ...body, message: " " })),
  ),
  fault(
    "message-missing-404",
    "A 404 has no message.",
    "error-body.message",
    ofStatus(404, (body) => without(body, "message")),
  ),
  fault(
    "message-first-field",
    "The message names one field alone.",
    "error-body.names-fields",
    everyError((body) => ({ ...body, message: String(body["message"]).split(";")[0] })),
  ),
  fault(
    "message-vague",
    "The message names no field.",
    "error-body.names-fields",
    everyError((body) => ({ ...body, message: "Mend the request." })),
  ),
  fault(
    "error-shape-405",
    "A 405 has another shape.",
    "error-body.everywhere",
    ofStatus(405, () => ({ code: 405 })),
  ),
  fault(
    "error-shape-413",
    "A 413 has another shape.",
    "error-body.everywhere",
    ofStatus(413, () => ({ code: 413 })),
  ),
  fault("error-page-404", "An unknown path is answered with a page.", "error-body.everywhere", {
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.status === 404 && !known(call.path)
        ? { ...reply, headers: { ...reply.headers, "content-type": "text/html" }, text: "<p>Nothing here</p>" }
        : reply;
    },
  }),
  fault(
    "status-not-mirrored-405",
    "The statusCode of a 405 is 400.",
    "error-body.everywhere",
    ofStatus(405, (body) => ({ ...body, statusCode: 400 })),
  ),
  fault(
    "undocumented-status",
    "A lookup that fails is a 418.",
    "answers.exact",
    answers(verify, (reply) => (reply.status === 404 ? withStatus(reply, 418) : reply)),
  ),
  fault(
    "record-id-other-form",
    "A record's fee is below nothing.",
    "answers.exact",
    answers(verify, (reply) =>
      isAccepted(reply) ? withBody(reply, JSON.parse(reply.text.replace(/"fee":\d+/, '"fee":-1'))) : reply,
    ),
  ),
  fault(
    "clock-without-milliseconds",
    "The sandbox time has another form.",
    "answers.exact",
    answers("readClock", (reply) => ({ ...reply, text: reply.text.replace(/\.\d{3}Z/, "") })),
  ),
  fault(
    "envelope-missing-status",
    "The envelope of success has no statusCode.",
    "answers.envelope-200 create.result-shape verify.record-shape",
    answers(described, (reply) =>
      isAccepted(reply) ? withBody(reply, { data: fieldsOf(reply.text)?.["data"] }) : reply,
    ),
  ),
  fault(
    "envelope-status-text",
    "The statusCode of the envelope is text.",
    "answers.envelope-200 create.result-shape verify.record-shape",
    answers(described, (reply) =>
      isAccepted(reply) ? withBody(reply, { ...fieldsOf(reply.text), statusCode: "200" }) : reply,
    ),
  ),
  fault(
    "envelope-status-0",
    "The statusCode of the envelope is 0.",
    "answers.envelope-200",
    answers(described, (reply) =>
      isAccepted(reply) ? withBody(reply, { ...fieldsOf(reply.text), statusCode: 0 }) : reply,
    ),
  ),
  fault(
    "request-id-missing",
    "Answers have no x-request-id.",
    "answers.request-id",
    answers("every", (reply) => withHeader(reply, "x-request-id")),
  ),
  fault(
    "request-id-missing-on-errors",
    "Errors have no x-request-id.",
    "answers.request-id",
    answers("every", (reply) => (isError(reply) ? withHeader(reply, "x-request-id") : reply)),
  ),
  fault("rate-without-wait", "A 429 does not say how long to wait.", "limits.retry-after", () => {
    let count = 0;
    return instead(
      verify,
      () => (count += 1) === 5,
      () => refusal(429),
    );
  }),
  fault("rate-with-a-date", "A 429 says until when to wait instead of how long.", "limits.retry-after", () => {
    let count = 0;
    return instead(
      verify,
      () => (count += 1) === 5,
      () => withHeader(refusal(429), "retry-after", new Date().toUTCString()),
    );
  }),
];
