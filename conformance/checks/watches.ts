// What every answer of a run is looked at for, whatever check it belongs to.
import { summary, type Watch } from "../check.ts";
import { differences, operationOf, routeOfAnswer } from "../contract/documented.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "../contract/validate.ts";

const errorSchema = "Error";
/** The operations that the interface itself describes; of the checkouts it leaves the errors open (§4.3). */
const described = ["createDisbursement", "verifyDisbursement"];
const documented = new Set([400, 401, 404, 409, 422, 500]);

const isError = ({ status = 0 }: TargetResponse) => status >= 400;
const isSuccess = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;
const isDescribedError = (answer: TargetResponse) =>
  described.includes(operationOf(answer)) && documented.has(answer.status ?? 0);

const isJson = (answer: TargetResponse) =>
  /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i.test(answer.headers["content-type"] ?? "");

function jsonFaults(answer: TargetResponse): string[] {
  const faults: string[] = [];
  if (!isJson(answer)) faults.push(`Content-Type is ${answer.headers["content-type"] ?? "missing"}`);
  if (answer.json === undefined) faults.push(`the body is no JSON: ${summary(answer).slice(0, 80)}`);
  return faults;
}

const shapeFaults = (answer: TargetResponse, validator: (schema: string) => Validator) =>
  answer.json === undefined ? ["the body is no JSON"] : validator(errorSchema)(answer.json);

function mirrorFaults(answer: TargetResponse): string[] {
  const { statusCode } = (answer.json ?? {}) as { statusCode?: unknown };
  return statusCode === answer.status ? [] : [`statusCode is ${JSON.stringify(statusCode) ?? "missing"}`];
}

/** Judges the body of a successful answer of one operation. */
const successOf = (id: string, operationId: string, what: string): Watch => ({
  id,
  name: what,
  expected: `a body of the form that is promised for ${operationId}`,
  applies: (answer) => answer.status === 200 && operationOf(answer) === operationId,
  faults: differences,
});

const coreWatches: Watch[] = [
  {
    id: "json.answers",
    name: "JSON",
    expected: "a JSON body with Content-Type application/json",
    applies: (answer) =>
      isDescribedError(answer) || (isSuccess(answer) && [...described, "createCheckout"].includes(operationOf(answer))),
    faults: jsonFaults,
  },
  {
    id: "errors.shape",
    name: "errors",
    expected: "statusCode (integer), error (text) and, when there, message (text)",
    applies: isDescribedError,
    faults: shapeFaults,
  },
  {
    id: "errors.status-mirrored",
    name: "statusCode of errors",
    expected: "the HTTP status as statusCode",
    applies: isDescribedError,
    faults: mirrorFaults,
  },
  {
    id: "errors.no-5xx",
    name: "no 5xx to a bad request",
    expected: "an answer, and no 5xx",
    applies: ({ request }) => request.effect !== "moves-money" && !request.forced,
    // 501 is how a server says that it knows no such method.
    faults: (answer) => ((answer.status ?? 500) >= 500 && answer.status !== 501 ? [summary(answer).slice(0, 120)] : []),
  },
  {
    id: "errors.checkout-shape",
    name: "errors of checkouts",
    expected: "statusCode (integer, the HTTP status), error (text) and, when there, message (text)",
    applies: (answer) => isError(answer) && operationOf(answer) === "createCheckout",
    faults: (answer, validator) => [...shapeFaults(answer, validator), ...mirrorFaults(answer)],
  },
  successOf("create.result-shape", "createDisbursement", "results of create"),
  successOf("verify.record-shape", "verifyDisbursement", "records"),
];

/** Pages for people, and probes, do not belong to the API. */
const ofApi = ({ request }: TargetResponse) =>
  !/^\/(healthz|readyz|metrics|docs|dashboard|checkouts)\b/.test(request.path);

const extendedWatches: Watch[] = [
  {
    id: "error-body.message",
    name: "message of errors",
    expected: "a message that is not empty",
    applies: (answer) => ofApi(answer) && isError(answer) && answer.request.method !== "HEAD",
    faults(answer) {
      const { message } = (answer.json ?? {}) as { message?: unknown };
      return typeof message === "string" && message.trim() !== ""
        ? []
        : [`message is ${JSON.stringify(message) ?? "missing"}`];
    },
  },
  {
    id: "error-body.everywhere",
    name: "errors of every kind",
    expected: "JSON with statusCode (the HTTP status), error and message",
    applies: (answer) => ofApi(answer) && isError(answer) && answer.request.method !== "HEAD",
    faults: (answer, validator) => [...jsonFaults(answer), ...shapeFaults(answer, validator), ...mirrorFaults(answer)],
  },
  {
    id: "answers.exact",
    name: "the OpenAPI document",
    expected: "a status that is documented for the operation, and a body of its schema",
    applies: (answer) => answer.status !== undefined && routeOfAnswer(answer) !== undefined,
    faults: differences,
  },
  {
    id: "answers.envelope-200",
    name: "envelopes",
    expected: "statusCode 200 beside data",
    applies: (answer) => answer.status === 200 && routeOfAnswer(answer) !== undefined,
    faults: mirrorFaults,
  },
  {
    id: "answers.request-id",
    name: "request ids",
    expected: "a header x-request-id",
    applies: (answer) => answer.status !== undefined && ofApi(answer),
    faults: (answer) => (answer.headers["x-request-id"] ? [] : ["x-request-id is missing"]),
  },
  {
    id: "limits.retry-after",
    name: "429",
    expected: "a Retry-After of whole seconds",
    applies: (answer) => answer.status === 429,
    faults: ({ headers }) =>
      /^\d+$/.test(headers["retry-after"] ?? "") ? [] : [`Retry-After is ${headers["retry-after"]}`],
    rare: "no 429 was met: the target did not limit the rate of this run",
  },
];

export const watches: Watch[] = [...coreWatches, ...extendedWatches];
