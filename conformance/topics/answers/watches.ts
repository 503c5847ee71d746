// Defines the rules that every response of a run must satisfy, whichever check sent the request.
import { describeResponse, type Watch } from "../../check.ts";
import { openapi } from "../../contract/contract.ts";
import { differences, operationOf, routeOfResponse, schemaName } from "../../contract/documented.ts";
import { fieldsOf } from "../../target/ledger.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Validator } from "../../contract/validate.ts";
import { is2xx } from "../../steps/responses.ts";
import { equal, textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const errorCodes = openapi.components.schemas["ErrorCode"]?.["enum"] as unknown[];
const errorSchema = "ErrorResponse";
/** The operations whose errors the interface defines. The interface does not define the errors of checkouts (§4.3). */
const described = ["createDisbursement", "verifyDisbursement"];
const documented = new Set([400, 401, 404, 409, 422, 500]);

const isError = ({ status = 0 }: TargetResponse) => status >= 400;
const isDescribedError = (response: TargetResponse) =>
  described.includes(operationOf(response)) && documented.has(response.status ?? 0);

const isJson = (response: TargetResponse) =>
  /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i.test(response.headers["content-type"] ?? "");

const typeFaults = (response: TargetResponse) =>
  isJson(response) ? [] : [`Content-Type is ${response.headers["content-type"] ?? "missing"}`];
const bodyFaults = (response: TargetResponse) =>
  response.json === undefined ? [`the body is not JSON: ${describeResponse(response).slice(0, 80)}`] : [];

/** Returns true if the interface defines a JSON body for the response, which can be a success or a documented error. */
const isDescribed = (response: TargetResponse) =>
  isDescribedError(response) || (is2xx(response) && [...described, "createCheckout"].includes(operationOf(response)));

const shapeFaults = (response: TargetResponse, validator: (schema: string) => Validator) =>
  response.json === undefined ? ["the body is not JSON"] : validator(errorSchema)(response.json);

function mirrorFaults(response: TargetResponse): string[] {
  const { statusCode } = (response.json ?? {}) as { statusCode?: unknown };
  return statusCode === response.status ? [] : [`statusCode is ${JSON.stringify(statusCode) ?? "missing"}`];
}

/**
 * Returns the faults of a create response whose amount or reference differs from the amount or reference of its
 * request.
 */
function echoFaults({ request, json }: TargetResponse): string[] {
  const { data } = (json ?? {}) as { data?: Record<string, unknown> };
  const { amount, reference } = fieldsOf(request);
  const sent = { amount, merchantsReference: reference };
  return Object.entries(sent).flatMap(([field, value]) =>
    equal(data?.[field], value)
      ? []
      : [`${field} is ${JSON.stringify(data?.[field])}, and ${JSON.stringify(value)} was sent`],
  );
}

/** Makes a watch that judges the body of every 200 response to one operation. */
const successOf = (id: RequirementId, operationId: string, what: string): Watch => ({
  id,
  name: what,
  expected: `a body that matches the schema of ${operationId}`,
  applies: (response) => response.status === 200 && operationOf(response) === operationId,
  faults: differences,
});

function recordsIn(json: unknown): Record<string, unknown>[] {
  const { data } = (json ?? {}) as { data?: Record<string, unknown> };
  const found = Array.isArray(data?.["items"]) ? (data["items"] as unknown[]) : [data];
  return found.filter((each): each is Record<string, unknown> => typeof each === "object" && each !== null);
}

const coreWatches: Watch[] = [
  {
    id: "json.answers",
    name: "Responses are JSON",
    expected: "a JSON body",
    applies: isDescribed,
    faults: bodyFaults,
  },
  {
    id: "json.content-type",
    name: "Responses have a JSON Content-Type",
    expected: "Content-Type application/json",
    applies: isDescribed,
    faults: typeFaults,
  },
  {
    id: "json.media-type",
    name: "JSON is not declared as something else",
    expected: "no other media type for JSON, whatever the status",
    applies: ({ request, json }) => request.path.startsWith("/v1/") && typeof json === "object" && json !== null,
    faults: ({ headers: { "content-type": type = "" } }) =>
      type === "" || /^[\w.+-]+\/(?:[\w.+-]+\+)?json\b/i.test(type) ? [] : [`Content-Type is ${type}`],
  },
  {
    id: "json.no-unasked-continue",
    name: "No response follows a 100 Continue",
    expected: "no 100 Continue, which the request did not ask for",
    applies: ({ status }) => status !== undefined,
    faults: ({ continued }) =>
      continued ? ["a 100 Continue came first; fetch of Node takes it for a broken connection"] : [],
  },
  {
    id: "errors.shape",
    name: "Errors have the documented shape",
    expected: "statusCode (integer), error (string) and, if present, message (string)",
    applies: isDescribedError,
    faults: shapeFaults,
  },
  {
    id: "errors.status-mirrored",
    name: "Errors repeat the HTTP status",
    expected: "statusCode equal to the HTTP status",
    applies: isDescribedError,
    faults: mirrorFaults,
  },
  {
    id: "errors.no-5xx",
    name: "Reads and invalid requests get no 5xx",
    expected: "a response, and no 5xx other than 501",
    applies: ({ request }) => request.effect !== "moves-money" && !request.forced,
    // 501 is a valid response to a method that the server does not implement.
    faults: (response) =>
      (response.status ?? 500) >= 500 && response.status !== 501 ? [describeResponse(response).slice(0, 120)] : [],
  },
  {
    id: "errors.checkout-shape",
    name: "Checkout errors have the documented shape",
    expected: "statusCode (integer, the HTTP status), error (string) and, if present, message (string)",
    applies: (response) => isError(response) && operationOf(response) === "createCheckout",
    faults: (response, validator) => [...shapeFaults(response, validator), ...mirrorFaults(response)],
  },
  {
    id: "create.result-as-requested",
    name: "Results of create have the amount and the reference of their requests",
    expected: "amount and merchantsReference as in the request",
    applies: (response) =>
      response.status === 200 &&
      response.request.effect === "moves-money" &&
      operationOf(response) === "createDisbursement",
    faults: echoFaults,
  },
  successOf("create.result-shape", "createDisbursement", "Results of create match the schema"),
  successOf("verify.record-shape", "verifyDisbursement", "Records match the schema"),
  {
    id: "verify.updated-not-before-created",
    name: "Records were created before they were updated",
    expected: "updatedAt not earlier than createdAt",
    applies: (response) => response.status === 200 && operationOf(response) === "verifyDisbursement",
    faults({ json }) {
      const { createdAt, updatedAt } = recordsIn(json)[0] ?? {};
      const isEarlier = Date.parse(textOf(updatedAt)) < Date.parse(textOf(createdAt));
      return isEarlier ? [`createdAt ${textOf(createdAt)}, updatedAt ${textOf(updatedAt)}`] : [];
    },
  },
];

/** Returns false for web pages and operational endpoints such as health probes, which are not part of the API. */
const ofApi = ({ request }: TargetResponse) =>
  !/^\/(healthz|readyz|metrics|docs|dashboard|checkouts)\b/.test(request.path);

/** The operations that return records, or lists of them. */
const showsRecords = new Set(["verifyDisbursement", "listDisbursements", "verifyCheckout", "listCheckouts"]);

const isRetryAfter = (value: string) =>
  /^\d+$/.test(value) || (value.endsWith(" GMT") && !Number.isNaN(Date.parse(value)));
/** `undefined` would be a valid name of a method, so only names in upper case count. */
const isAllow = (value: string) => /^[A-Z]+( *, *[A-Z]+)*$/.test(value);

/** True for an error with a body; a response to HEAD has none. */
const hasErrorBody = (response: TargetResponse) =>
  ofApi(response) && isError(response) && response.request.method !== "HEAD";
const errorOf = ({ json }: TargetResponse) => (json ?? {}) as { message?: unknown; code?: unknown };

/** True if the target says that it has no such control of a sandbox, as a live service does (D18). */
const isWithoutSandbox = (response: TargetResponse) =>
  response.status === 404 && response.request.path.startsWith("/sandbox/") && schemaName(response) === undefined;

const extendedWatches: Watch[] = [
  {
    id: "error-body.message",
    name: "Errors have a message",
    expected: "a non-empty message",
    applies: hasErrorBody,
    faults(response) {
      const { message } = errorOf(response);
      const isText = typeof message === "string" && message.trim() !== "";
      return isText ? [] : [`message is ${JSON.stringify(message) ?? "missing"}`];
    },
  },
  {
    id: "error-code.documented",
    name: "Errors have a documented code",
    expected: "a code that the OpenAPI document lists",
    applies: hasErrorBody,
    faults(response) {
      const { code } = errorOf(response);
      return errorCodes.includes(code) ? [] : [`code is ${JSON.stringify(code) ?? "missing"}`];
    },
  },
  {
    id: "error-body.everywhere",
    name: "Errors have the documented shape everywhere",
    expected: "JSON with statusCode (the HTTP status), error and message",
    applies: hasErrorBody,
    faults: (response, validator) => [
      ...typeFaults(response),
      ...bodyFaults(response),
      ...shapeFaults(response, validator),
      ...mirrorFaults(response),
    ],
  },
  {
    id: "answers.exact",
    name: "Responses match the OpenAPI document",
    expected:
      "a status documented for the operation, Content-Type application/json, and a body that matches its schema",
    applies: (response) =>
      response.status !== undefined && routeOfResponse(response) !== undefined && !isWithoutSandbox(response),
    faults: (response, validator) => [...typeFaults(response), ...differences(response, validator)],
  },
  {
    id: "failure.only-failed",
    name: "Only failed records have a failure",
    expected: "no failure in a record whose status is not failed",
    applies: (response) => response.status === 200 && showsRecords.has(operationOf(response)),
    faults: ({ json }) =>
      recordsIn(json).flatMap(({ reference, status, failure }) =>
        failure === undefined || status === "failed"
          ? []
          : [`${textOf(reference)} is ${textOf(status)} and has the failure ${JSON.stringify(failure)}`],
      ),
  },
  {
    id: "answers.envelope-200",
    name: "Envelopes have statusCode 200",
    expected: "statusCode 200 in the envelope",
    applies: (response) => response.status === 200 && routeOfResponse(response) !== undefined,
    faults: mirrorFaults,
  },
  {
    id: "answers.request-id",
    name: "Responses have a request id",
    expected: "an x-request-id header",
    applies: (response) => response.status !== undefined && ofApi(response),
    faults: (response) => (response.headers["x-request-id"] ? [] : ["x-request-id is missing"]),
  },
  {
    id: "answers.headers",
    name: "Retry-After and Allow can be read",
    expected: "Retry-After, if present, in seconds or as a date; Allow, if present, a list of methods",
    applies: (response) => response.status !== undefined && ofApi(response),
    faults({ headers: { "retry-after": wait, allow } }) {
      return [
        ...(wait === undefined || isRetryAfter(wait) ? [] : [`Retry-After is ${wait}`]),
        ...(allow === undefined || isAllow(allow) ? [] : [`Allow is ${allow}`]),
      ];
    },
  },
  {
    id: "limits.retry-after",
    name: "429 has Retry-After",
    expected: "Retry-After as a whole number of seconds",
    applies: (response) => response.status === 429,
    faults: ({ headers }) =>
      /^\d+$/.test(headers["retry-after"] ?? "") ? [] : [`Retry-After is ${headers["retry-after"] ?? "missing"}`],
    rare: "no response was a 429: the target did not rate-limit this run",
  },
];

export const watches: Watch[] = [...coreWatches, ...extendedWatches];
