// What every answer of a run is looked at for, whatever check it belongs to.
import { describeResponse, type Watch } from "../check.ts";
import { differences, operationOf, routeOfResponse } from "../contract/documented.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Validator } from "../contract/validate.ts";

const errorSchema = "Error";
/** The operations that the interface itself describes; of the checkouts it leaves the errors open (§4.3). */
const described = ["createDisbursement", "verifyDisbursement"];
const documented = new Set([400, 401, 404, 409, 422, 500]);

const isError = ({ status = 0 }: TargetResponse) => status >= 400;
const isSuccess = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;
const isDescribedError = (response: TargetResponse) =>
  described.includes(operationOf(response)) && documented.has(response.status ?? 0);

const isJson = (response: TargetResponse) =>
  /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i.test(response.headers["content-type"] ?? "");

function jsonFaults(response: TargetResponse): string[] {
  const faults: string[] = [];
  if (!isJson(response)) faults.push(`Content-Type is ${response.headers["content-type"] ?? "missing"}`);
  if (response.json === undefined) faults.push(`the body is no JSON: ${describeResponse(response).slice(0, 80)}`);
  return faults;
}

const shapeFaults = (response: TargetResponse, validator: (schema: string) => Validator) =>
  response.json === undefined ? ["the body is no JSON"] : validator(errorSchema)(response.json);

function mirrorFaults(response: TargetResponse): string[] {
  const { statusCode } = (response.json ?? {}) as { statusCode?: unknown };
  return statusCode === response.status ? [] : [`statusCode is ${JSON.stringify(statusCode) ?? "missing"}`];
}

/** Judges the body of a successful answer of one operation. */
const successOf = (id: string, operationId: string, what: string): Watch => ({
  id,
  name: what,
  expected: `a body of the form that is promised for ${operationId}`,
  applies: (response) => response.status === 200 && operationOf(response) === operationId,
  faults: differences,
});

const coreWatches: Watch[] = [
  {
    id: "json.answers",
    name: "JSON",
    expected: "a JSON body with Content-Type application/json",
    applies: (response) =>
      isDescribedError(response) ||
      (isSuccess(response) && [...described, "createCheckout"].includes(operationOf(response))),
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
    faults: (response) =>
      (response.status ?? 500) >= 500 && response.status !== 501 ? [describeResponse(response).slice(0, 120)] : [],
  },
  {
    id: "errors.checkout-shape",
    name: "errors of checkouts",
    expected: "statusCode (integer, the HTTP status), error (text) and, when there, message (text)",
    applies: (response) => isError(response) && operationOf(response) === "createCheckout",
    faults: (response, validator) => [...shapeFaults(response, validator), ...mirrorFaults(response)],
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
    applies: (response) => ofApi(response) && isError(response) && response.request.method !== "HEAD",
    faults(response) {
      const { message } = (response.json ?? {}) as { message?: unknown };
      return typeof message === "string" && message.trim() !== ""
        ? []
        : [`message is ${JSON.stringify(message) ?? "missing"}`];
    },
  },
  {
    id: "error-body.everywhere",
    name: "errors of every kind",
    expected: "JSON with statusCode (the HTTP status), error and message",
    applies: (response) => ofApi(response) && isError(response) && response.request.method !== "HEAD",
    faults: (response, validator) => [
      ...jsonFaults(response),
      ...shapeFaults(response, validator),
      ...mirrorFaults(response),
    ],
  },
  {
    id: "answers.exact",
    name: "the OpenAPI document",
    expected: "a status that is documented for the operation, and a body of its schema",
    applies: (response) => response.status !== undefined && routeOfResponse(response) !== undefined,
    faults: differences,
  },
  {
    id: "answers.envelope-200",
    name: "envelopes",
    expected: "statusCode 200 beside data",
    applies: (response) => response.status === 200 && routeOfResponse(response) !== undefined,
    faults: mirrorFaults,
  },
  {
    id: "answers.request-id",
    name: "request ids",
    expected: "a header x-request-id",
    applies: (response) => response.status !== undefined && ofApi(response),
    faults: (response) => (response.headers["x-request-id"] ? [] : ["x-request-id is missing"]),
  },
  {
    id: "limits.retry-after",
    name: "429",
    expected: "a Retry-After of whole seconds",
    applies: (response) => response.status === 429,
    faults: ({ headers }) =>
      /^\d+$/.test(headers["retry-after"] ?? "") ? [] : [`Retry-After is ${headers["retry-after"]}`],
    rare: "no 429 was met: the target did not limit the rate of this run",
  },
];

export const watches: Watch[] = [...coreWatches, ...extendedWatches];
