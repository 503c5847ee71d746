// Servers that refuse with the wrong status, check a request in the wrong order (D1), or explain a refusal badly (D2), and
// servers that misread paths and methods (D26).
import { type Call, type Faults, type How } from "../../broken/fault.ts";
import { asJson, creates, hasNoKey, isOf, typeOf, without, type Fields } from "../../broken/calls.ts";
import { errors, forwards, handles, responses, statuses } from "../../broken/changes.ts";
import { refusal, withHeader } from "../../broken/replies.ts";

const required = ["reference", "amount", "phoneNumber", "country", "currency"];
const lacksField = (body: Fields) => required.some((field) => body[field] === undefined);
/** Refuses matching requests before the server reads them. */
const before = (fits: (call: Call) => boolean, status: number): How =>
  handles(async (call, ask) => (fits(call) ? refusal(status) : ask(call)));
const isKnown = (path: string) => /^\/(v1|sandbox|healthz|readyz|checkouts)\b/.test(path);
const isPlain = (call: Call) => typeOf(call) === "text/plain";

/** Changes the body of every error response, whatever the path and method of its request. */
const everyError = (change: (body: Fields) => unknown) => errors("every", change);

export const faults: Faults = {
  "refusal.malformed-400: A malformed body returns 422.": statuses(creates, 400, 422, (body) => body === undefined),
  "refusal.missing-field-400: A missing field returns 422.": statuses(
    "createDisbursement",
    400,
    422,
    (body) => !!body && lacksField(body),
  ),
  "refusal.wrong-type-400: A field of the wrong type returns 422.": statuses(
    "createDisbursement",
    400,
    422,
    (body) => !!body && !lacksField(body),
  ),
  "refusal.bad-value-422: An invalid value returns 400.": statuses(creates, 422, 400),
  "refusal.mixed-400: A request with one error of 400 and one of 422 returns 422.": statuses(
    creates,
    400,
    422,
    (body) => !!body && (!/^\d{10,15}$/.test(String(body["phoneNumber"])) || body["country"] === "ci"),
  ),
  "refusal.media-type-415: JSON with Content-Type text/plain is accepted.": forwards((call) =>
    isPlain(call) ? asJson(call) : call,
  ),
  "refusal.unknown-path-404: An unknown path returns 401 without a key.": before(
    (call) => hasNoKey(call) && !isKnown(call.path),
    401,
  ),
  "refusal.unknown-path-404: Paths are matched without regard to case.": forwards((call) => ({
    ...call,
    path: call.path.replace(/^\/V1/, "/v1"),
  })),
  "refusal.wrong-method-405: A wrong method returns 404.": statuses("every", 405, 404),
  "refusal.wrong-method-405: The Allow header lists methods that are not allowed.": responses("every", (reply) =>
    reply.status === 405 ? withHeader(reply, "allow", "GET, POST, PUT, PATCH, DELETE") : reply,
  ),
  "refusal.order: The key is checked before the method.": before(
    (call) => hasNoKey(call) && call.method === "DELETE",
    401,
  ),
  "refusal.order: The media type is checked before the body size.": before(
    (call) => !hasNoKey(call) && isPlain(call) && call.body.length > 16_384,
    415,
  ),
  "refusal.order: The JSON syntax is checked before the media type.": before(
    (call) => isPlain(call) && call.body.toString() === "not json",
    400,
  ),
  "error-body.message: Errors have no message.": everyError((body) => without(body, "message")),
  "error-body.names-fields: Error messages name only the first invalid field.": everyError((body) => ({
    ...body,
    message: String(body["message"]).split(". ")[0],
  })),
  "error-body.everywhere: An unknown path returns an HTML page.": responses("every", (reply, { path }) =>
    reply.status === 404 && !isKnown(path)
      ? { ...withHeader(reply, "content-type", "text/html"), text: "<p>Nothing here</p>" }
      : reply,
  ),
  "error-code.documented: Errors have no code.": everyError((body) => without(body, "code")),
  "error-code.fields: Every entry in fields has the code enum.": everyError((body) => ({
    ...body,
    fields: (body["fields"] as Fields[] | undefined)?.map((each) => ({ ...each, code: "enum" })),
  })),
  "methods.head: HEAD is refused.": before((call) => call.method === "HEAD", 405),
  "methods.options-405: A CORS preflight succeeds.": handles(async (call, ask) =>
    call.method === "OPTIONS"
      ? { status: 204, headers: { allow: "GET, POST", "access-control-allow-origin": "*" }, text: "" }
      : ask(call),
  ),
  "versioning.paths: A checkout without fields returns 404.": before(
    (call) => isOf(call, "createCheckout") && call.body.toString() === "{}",
    404,
  ),
};
