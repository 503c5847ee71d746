// Derives the likely cause of a failure from its evidence. A rule applies only where the evidence supports it. Most
// failures have no rule; the report then claims nothing.
import { isSide, type CheckResult, type Exchange, type RequirementResult } from "../results.ts";

type Failure = {
  id: string;
  check: CheckResult;
  /** The exchange that shows the failure; undefined if no single exchange shows it. */
  exchange: Exchange | undefined;
  status: number | undefined;
  isHtml: boolean;
  wasAccepted: boolean;
};

type Rule = { when: (failure: Failure) => boolean; cause: string };

const isDuplicate = ({ id }: Failure) => /duplicate|reference-unique|failed-counts|lost-answer/.test(id);
const isSent = ({ exchange }: Failure) => exchange?.method !== "GET" && exchange?.requestBody !== undefined;
/** True if the request was valid, so that a conforming service accepts it. */
export const expectsSuccess = ({ expected }: CheckResult) => /^(a )?(200|2xx)\b/.test(expected);
const afterCreate = ({ exchange }: Failure) =>
  exchange?.method === "GET" && /\/v1\/(disbursements|checkouts)\/[^/]+$/.test(exchange.url);

/**
 * True if the target handles a request that it must refuse with 401. A 5xx does not show that: the target may fail for
 * every request.
 */
export function isUnprotected(check: CheckResult): boolean {
  const { status = 500 } = shownBy(check) ?? {};
  return /^401\b/.test(check.expected) && status < 500 && status !== 401 && status !== 429;
}

export const outsideMiddleware =
  "this route is outside the middleware that checks the key, or the key is not compared as a whole.";

/** The first rule that applies gives the cause. */
const rules: Rule[] = [
  {
    when: ({ check }) => isUnprotected(check),
    cause: `T${outsideMiddleware.slice(1)}`,
  },
  {
    when: ({ exchange, status }) => status === undefined && /no complete response/.test(exchange?.failure ?? ""),
    cause:
      "The target did not respond within --timeout. A handler may wait for something that never happens, such as a lock or another service.",
  },
  {
    when: ({ exchange, status }) => status === undefined && /closed without/.test(exchange?.failure ?? ""),
    cause: "The process or a proxy closed the connection. A crash in the handler does this; see the target's log.",
  },
  {
    when: (failure) => isDuplicate(failure) && (failure.status ?? 0) >= 500,
    cause:
      "The unique constraint of the database works, but its error is not turned into 409. Catch the violation and respond with 409.",
  },
  {
    when: (failure) => failure.id.includes("race") && /\d × 200.*\d × 5\d\d/.test(failure.check.actual),
    cause: "Concurrent inserts violate the unique constraint, and the error of the losers is not turned into 409.",
  },
  {
    when: ({ id, check }) => id.includes("race") && /^([2-9]|\d\d+) × 200/.test(check.actual),
    cause:
      "The reference is looked up first and inserted later. Concurrent requests all find nothing. Only a unique constraint in the database prevents this.",
  },
  {
    when: (failure) => failure.id.startsWith("create.duplicate-refused") && failure.wasAccepted,
    cause:
      "There is no unique constraint on merchant and reference, or it covers more fields, such as amount, phone number or country.",
  },
  {
    when: ({ status }) => status === 502 || status === 503 || status === 504,
    cause: "A gateway in front of the service could not reach it in time, or the service is overloaded.",
  },
  {
    when: (failure) => failure.status === 404 && afterCreate(failure) && expectsSuccess(failure.check),
    cause:
      "The record is not found right after it was created: a read replica that lags behind, a lookup by another reference or merchant, or a create that responds before its commit.",
  },
  {
    when: (failure) => failure.status === 401 && expectsSuccess(failure.check),
    cause: "The key is valid for some requests only. Check its permissions and the environment that it belongs to.",
  },
  {
    when: ({ status }) => status === 429,
    cause: "The target limits the rate of requests. Set --rate to what it allows.",
  },
  {
    when: ({ status }) => status !== undefined && status >= 300 && status < 400,
    cause: "The target redirects. Give the final address as --base-url, with https and everything before /v1.",
  },
  {
    when: ({ isHtml, status }) => isHtml && status !== undefined,
    cause: "A proxy or the error page of a framework responds, not the service itself.",
  },
  {
    when: (failure) => /malformed|body-required|object-required/.test(failure.id) && (failure.status ?? 0) >= 500,
    cause: "The error of the JSON parser is not turned into 400.",
  },
  {
    when: (failure) => (failure.status ?? 0) >= 500 && isSent(failure) && !expectsSuccess(failure.check),
    cause: "The value reaches code or a database column that cannot take it. Validate the body before using it.",
  },
  {
    when: ({ id, wasAccepted }) => /-type$|\.types$|wrong-type/.test(id) && wasAccepted,
    cause: "The validator or the language converts the value to the expected type instead of rejecting it.",
  },
  {
    when: ({ id, status }) => id === "json.charset-accepted" && (status ?? 0) >= 400,
    cause: "The Content-Type is compared as text, so that a parameter such as charset makes it unknown.",
  },
  {
    when: ({ id, wasAccepted }) => /-pattern$|\.patterns$/.test(id) && wasAccepted,
    cause: "The pattern is missing or not anchored at both ends, or a newline at the end slips through.",
  },
  {
    when: ({ id, wasAccepted }) =>
      /^(auth|lists\.needs-key|sandbox\.needs-key|checkout-record\.needs-key)/.test(id) && wasAccepted,
    cause: `T${outsideMiddleware.slice(1)}`,
  },
];

/** Returns the exchange that shows the failure of a check; undefined if no single exchange shows it. */
export const shownBy = (check: CheckResult): Exchange | undefined =>
  check.exchanges.find(({ id }) => id === check.shownBy);

/**
 * Returns the likely cause of a failed check; undefined if the evidence does not support a cause. The rules are about
 * services.
 */
export function likelyCause(
  { id, profile }: Pick<RequirementResult, "id" | "profile">,
  check: CheckResult,
): string | undefined {
  if (isSide(profile)) return undefined;
  const exchange = shownBy(check);
  const status = exchange?.status;
  const type = exchange?.responseHeaders?.["content-type"] ?? "";
  const failure: Failure = {
    id,
    check,
    exchange,
    status,
    isHtml: /html/i.test(type),
    wasAccepted: status !== undefined && status >= 200 && status < 300,
  };
  return rules.find(({ when }) => when(failure))?.cause;
}
