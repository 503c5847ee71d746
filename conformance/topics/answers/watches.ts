// Defines the rules that every response of a run must satisfy, whichever check sent the request.
import type { Watch } from "../../check.ts";
import { openapi } from "../../contract/contract.ts";
import { differences, operationOf, routeOfResponse, schemaName } from "../../contract/documented.ts";
import { fieldsOf } from "../../target/ledger.ts";
import { describeResponse, type TargetResponse, isAccepted } from "../../target/exchange.ts";
import type { Validator } from "../../contract/validate.ts";
import { equal, textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

type Fields = Record<string, unknown>;

const errorCodes = openapi.components.schemas["ErrorCode"]?.["enum"] as unknown[];
/** The operations whose errors the interface defines. The interface does not define the errors of checkouts (§4.3). */
const described = ["createDisbursement", "verifyDisbursement"];
const documented = new Set([400, 401, 404, 409, 422, 500]);
/** The operations that return records, or lists of them. */
const showsRecords = ["verifyDisbursement", "listDisbursements", "verifyCheckout", "listCheckouts"];

const shown = (value: unknown) => JSON.stringify(value) ?? "missing";
const bodyOf = ({ json }: TargetResponse) => (json ?? {}) as Fields;
const typeOf = ({ headers }: TargetResponse) => headers["content-type"] ?? "";
const isOk = ({ status }: TargetResponse) => status === 200;
const isError = ({ status = 0 }: TargetResponse) => status >= 400;
const hasArrived = ({ status }: TargetResponse) => status !== undefined;
const isOf = (response: TargetResponse, operations: readonly string[]) => operations.includes(operationOf(response));
const isDescribedError = (response: TargetResponse) =>
  isOf(response, described) && documented.has(response.status ?? 0);
/** Returns true if the interface defines a JSON body for the response, which can be a success or a documented error. */
const isDescribed = (response: TargetResponse) =>
  isDescribedError(response) || (isAccepted(response) && isOf(response, [...described, "createCheckout"]));
/** Returns false for web pages and operational endpoints such as health probes, which are not part of the API. */
const ofApi = ({ request }: TargetResponse) =>
  !/^\/(healthz|readyz|metrics|docs|dashboard|checkouts)\b/.test(request.path);
/** True for an error with a body; a response to HEAD has none. */
const hasErrorBody = (response: TargetResponse) =>
  ofApi(response) && isError(response) && response.request.method !== "HEAD";
/** True if the target says that it has no such control of a sandbox, as a live service does (D18). */
const isWithoutSandbox = (response: TargetResponse) =>
  response.status === 404 && response.request.path.startsWith("/sandbox/") && schemaName(response) === undefined;

const typeFaults = (response: TargetResponse) =>
  /^application\/(?:[\w.+-]+\+)?json\s*(;|$)/i.test(typeOf(response))
    ? []
    : [`Content-Type is ${typeOf(response) || "missing"}`];
const bodyFaults = (response: TargetResponse) =>
  response.json === undefined ? [`the body is not JSON: ${describeResponse(response).slice(0, 80)}`] : [];
const shapeFaults = (response: TargetResponse, validator: (schema: string) => Validator) =>
  response.json === undefined ? ["the body is not JSON"] : validator("ErrorResponse")(response.json);
const mirrorFaults = (response: TargetResponse) => {
  const { statusCode } = bodyOf(response);
  return statusCode === response.status ? [] : [`statusCode is ${shown(statusCode)}`];
};
const errorFaults: Watch["faults"] = (response, validator) => [
  ...shapeFaults(response, validator),
  ...mirrorFaults(response),
];

/** Returns the record of a response, or the records of a list. */
function recordsIn(response: TargetResponse): Fields[] {
  const data = bodyOf(response)["data"] as Fields | undefined;
  const found = Array.isArray(data?.["items"]) ? (data["items"] as unknown[]) : [data];
  return found.filter((each): each is Fields => typeof each === "object" && each !== null);
}

/** Judges the body of every 200 response to one operation. */
const successOf = (operation: string): Omit<Watch, "id"> => ({
  applies: (response) => isOk(response) && isOf(response, [operation]),
  faults: differences,
});

/** `undefined` would be a valid name of a method, so only names in upper case count. */
const isAllow = (value: string) => /^[A-Z]+( *, *[A-Z]+)*$/.test(value);
const isRetryAfter = (value: string) =>
  /^\d+$/.test(value) || (value.endsWith(" GMT") && !Number.isNaN(Date.parse(value)));

const all: Partial<Record<RequirementId, Omit<Watch, "id">>> = {
  "json.answers": { applies: isDescribed, faults: bodyFaults },
  "json.content-type": { applies: isDescribed, faults: typeFaults },
  "json.media-type": {
    applies: ({ request, json }) => request.path.startsWith("/v1/") && typeof json === "object" && json !== null,
    faults: (response) =>
      typeOf(response) === "" || /^[\w.+-]+\/(?:[\w.+-]+\+)?json\b/i.test(typeOf(response)) ? [] : typeFaults(response),
  },
  "json.no-unasked-continue": {
    applies: hasArrived,
    faults: ({ continued }) => (continued ? ["a 100 Continue came first, which fetch of Node takes for an error"] : []),
  },
  "errors.shape": { applies: isDescribedError, faults: shapeFaults },
  "errors.status-mirrored": { applies: isDescribedError, faults: mirrorFaults },
  "errors.no-5xx": {
    applies: ({ request }) => request.effect !== "moves-money" && !request.forced,
    // 501 is a valid response to a method that the server does not implement.
    faults: (response) =>
      (response.status ?? 500) >= 500 && response.status !== 501 ? [describeResponse(response).slice(0, 120)] : [],
  },
  "errors.checkout-shape": {
    applies: (response) => isError(response) && isOf(response, ["createCheckout"]),
    faults: errorFaults,
  },
  "create.result-as-requested": {
    applies: (response) =>
      isOk(response) && response.request.effect === "moves-money" && isOf(response, ["createDisbursement"]),
    faults(response) {
      const { amount, reference: merchantsReference } = fieldsOf(response.request);
      const [result] = recordsIn(response);
      return Object.entries({ amount, merchantsReference })
        .filter(([field, sent]) => !equal(result?.[field], sent))
        .map(([field, sent]) => `${field} is ${shown(result?.[field])}, and ${shown(sent)} was sent`);
    },
  },
  "create.result-shape": successOf("createDisbursement"),
  "verify.record-shape": successOf("verifyDisbursement"),
  "verify.updated-not-before-created": {
    applies: successOf("verifyDisbursement").applies,
    faults(response) {
      const { createdAt, updatedAt } = recordsIn(response)[0] ?? {};
      const isEarlier = Date.parse(textOf(updatedAt)) < Date.parse(textOf(createdAt));
      return isEarlier ? [`createdAt ${textOf(createdAt)}, updatedAt ${textOf(updatedAt)}`] : [];
    },
  },
  "error-body.message": {
    applies: hasErrorBody,
    faults(response) {
      const { message } = bodyOf(response);
      return typeof message === "string" && message.trim() !== "" ? [] : [`message is ${shown(message)}`];
    },
  },
  "error-code.documented": {
    applies: hasErrorBody,
    faults(response) {
      const { code } = bodyOf(response);
      return errorCodes.includes(code) ? [] : [`code is ${shown(code)}`];
    },
  },
  "error-body.everywhere": {
    applies: hasErrorBody,
    faults: (response, validator) => [...typeFaults(response), ...errorFaults(response, validator)],
  },
  "answers.exact": {
    applies: (response) =>
      hasArrived(response) && routeOfResponse(response) !== undefined && !isWithoutSandbox(response),
    faults: (response, validator) => [...typeFaults(response), ...differences(response, validator)],
  },
  "failure.only-failed": {
    applies: (response) => isOk(response) && isOf(response, showsRecords),
    faults: (response) =>
      recordsIn(response)
        .filter(({ status, failure }) => failure !== undefined && status !== "failed")
        .map(({ reference, status }) => `${textOf(reference)} is ${textOf(status)} and has a failure`),
  },
  "answers.envelope-200": {
    applies: (response) => isOk(response) && routeOfResponse(response) !== undefined,
    faults: mirrorFaults,
  },
  "answers.request-id": {
    applies: (response) => hasArrived(response) && ofApi(response),
    faults: (response) => (response.headers["x-request-id"] ? [] : ["x-request-id is missing"]),
  },
  "answers.headers": {
    applies: (response) => hasArrived(response) && ofApi(response),
    faults: ({ headers: { "retry-after": wait, allow } }) => [
      ...(wait === undefined || isRetryAfter(wait) ? [] : [`Retry-After is ${wait}`]),
      ...(allow === undefined || isAllow(allow) ? [] : [`Allow is ${allow}`]),
    ],
  },
  "limits.retry-after": {
    applies: ({ status }) => status === 429,
    faults: ({ headers: { "retry-after": wait } }) =>
      /^\d+$/.test(wait ?? "") ? [] : [`Retry-After is ${wait ?? "missing"}`],
    rare: "no response was a 429: the target did not rate-limit this run",
  },
};

export const watches = Object.entries(all).map(([id, watch]) => ({ ...watch, id }) as Watch);
