// Servers whose responses have the wrong form (D2, D6, D15, D20).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  responses,
  createDisbursement,
  described,
  errors,
  fieldsOf,
  instead,
  isAccepted,
  isError,
  isFraction,
  refusal,
  verifyDisbursement,
  withBody,
  withHeader,
  withStatus,
  without,
  type Fields,
} from "../ways.ts";

/** Applies `change` to the body of every error response, whatever the path and method of its request. */
const everyError = (change: (body: Fields) => unknown): Hooks => errors("every", change);
const ofStatus = (status: number, change: (body: Fields) => unknown): Hooks =>
  errors("every", (body, reply) => (reply.status === status ? change(body) : body));
const known = (path: string) => /^\/(v1|sandbox|healthz|readyz|checkouts)\b/.test(path);

export const faults: readonly Fault[] = [
  fault("message-missing", "Errors have no message.", "error-body.message", () =>
    everyError((body) => without(body, "message")),
  ),
  fault("message-empty", "Error messages are blank.", "error-body.message", () =>
    everyError((body) => ({ ...body, message: " " })),
  ),
  fault("message-missing-404", "A 404 has no message.", "error-body.message", () =>
    ofStatus(404, (body) => without(body, "message")),
  ),
  fault("message-first-field", "Error messages name only the first invalid field.", "error-body.names-fields", () =>
    everyError((body) => ({ ...body, message: String(body["message"]).split(";")[0] })),
  ),
  fault("message-vague", "Error messages name no field.", "error-body.names-fields", () =>
    everyError((body) => ({ ...body, message: "Fix the request." })),
  ),
  fault(
    "fraction-unnamed",
    "The refusal of an amount with a fraction names no field.",
    "error-code.fields error-body.names-fields",
    () =>
      responses(createDisbursement, (reply, call) =>
        isError(reply) && isFraction(fieldsOf(call.body)?.["amount"])
          ? withBody(reply, { ...without(fieldsOf(reply.text) ?? {}, "fields"), message: "Send a whole number." })
          : reply,
      ),
  ),
  quickFault(
    "error-shape-405",
    "A 405 has the wrong shape.",
    "error-body.everywhere",
    () => ofStatus(405, () => ({ code: 405 })),
    "refusal.wrong-method-405",
  ),
  fault("error-shape-413", "A 413 has the wrong shape.", "error-body.everywhere", () =>
    ofStatus(413, () => ({ code: 413 })),
  ),
  fault("error-page-404", "An unknown path returns an HTML page.", "error-body.everywhere", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      return reply?.status === 404 && !known(call.path)
        ? { ...reply, headers: { ...reply.headers, "content-type": "text/html" }, text: "<p>Nothing here</p>" }
        : reply;
    },
  })),
  fault("status-not-mirrored-405", "The body of a 405 has the statusCode 400.", "error-body.everywhere", () =>
    ofStatus(405, (body) => ({ ...body, statusCode: 400 })),
  ),
  fault("undocumented-status", "An unknown reference returns 418.", "answers.exact", () =>
    responses(verifyDisbursement, (reply) => (reply.status === 404 ? withStatus(reply, 418) : reply)),
  ),
  fault("record-fee-negative", "The fee of a record is negative.", "answers.exact", () =>
    responses(verifyDisbursement, (reply) =>
      isAccepted(reply) ? withBody(reply, JSON.parse(reply.text.replace(/"fee":\d+/, '"fee":-1'))) : reply,
    ),
  ),
  fault("clock-without-milliseconds", "The sandbox time has no milliseconds.", "answers.exact", () =>
    responses("readClock", (reply) => ({ ...reply, text: reply.text.replace(/\.\d{3}Z/, "") })),
  ),
  fault(
    "envelope-missing-status",
    "The envelope of a successful response has no statusCode.",
    "answers.envelope-200 create.result-shape verify.record-shape",
    () =>
      responses(described, (reply) =>
        isAccepted(reply) ? withBody(reply, { data: fieldsOf(reply.text)?.["data"] }) : reply,
      ),
  ),
  fault(
    "envelope-status-text",
    "The statusCode in the envelope is a string.",
    "answers.envelope-200 create.result-shape verify.record-shape",
    () =>
      responses(described, (reply) =>
        isAccepted(reply) ? withBody(reply, { ...fieldsOf(reply.text), statusCode: "200" }) : reply,
      ),
  ),
  fault("envelope-status-0", "The statusCode in the envelope is 0.", "answers.envelope-200", () =>
    responses(described, (reply) =>
      isAccepted(reply) ? withBody(reply, { ...fieldsOf(reply.text), statusCode: 0 }) : reply,
    ),
  ),
  quickFault("request-id-missing", "Responses have no x-request-id.", "answers.request-id", () =>
    responses("every", (reply) => withHeader(reply, "x-request-id")),
  ),
  fault("request-id-missing-on-errors", "Errors have no x-request-id.", "answers.request-id", () =>
    responses("every", (reply) => (isError(reply) ? withHeader(reply, "x-request-id") : reply)),
  ),
  fault("request-id-shared", "All responses have the same x-request-id.", "answers.request-id-own", () =>
    responses("every", (reply) => withHeader(reply, "x-request-id", "req_0000000000000000")),
  ),
  fault("request-id-of-caller", "The response has the x-request-id of its request.", "answers.request-id-own", () => ({
    async handle(call, ask) {
      const reply = await ask(call);
      const given = call.headers["x-request-id"];
      return reply && given !== undefined ? withHeader(reply, "x-request-id", String(given)) : reply;
    },
  })),
  fault(
    "errors-with-undefined-wait",
    "Every error has Retry-After: undefined.",
    "answers.headers",
    () => responses("every", (reply) => (isError(reply) ? withHeader(reply, "retry-after", "undefined") : reply)),
    "refusal.bad-value-422",
  ),
  fault(
    "errors-with-undefined-methods",
    "Every error has Allow: undefined.",
    "answers.headers",
    () => responses("every", (reply) => (isError(reply) ? withHeader(reply, "allow", "undefined") : reply)),
    "refusal.bad-value-422",
  ),
  fault(
    "error-fields-without-path",
    "The refusal of a body that is not an object has a field error without a path.",
    "answers.exact",
    () =>
      errors("every", (body) =>
        body["statusCode"] === 400 && !body["fields"]
          ? { ...body, fields: [{ path: "", code: "type", message: "The body must be a JSON object." }] }
          : body,
      ),
    "refusal.malformed-400",
  ),
  fault("rate-without-wait", "A 429 has no Retry-After.", "limits.retry-after", () => {
    let count = 0;
    return instead(
      verifyDisbursement,
      () => (count += 1) === 5,
      () => refusal(429),
    );
  }),
  fault("rate-with-a-date", "The Retry-After of a 429 is a date instead of seconds.", "limits.retry-after", () => {
    let count = 0;
    return instead(
      verifyDisbursement,
      () => (count += 1) === 5,
      () => withHeader(refusal(429), "retry-after", new Date().toUTCString()),
    );
  }),
];
