// Groups failures that have one cause, says what the cause probably is, and sorts the groups by what a reader should fix
// first. An explanation is given only where the evidence supports it.
import { isSide, type CheckResult, type Exchange, type Report, type RequirementResult } from "../results.ts";

export type Failure = {
  requirement: RequirementResult;
  /** The check that shows the failure. */
  check: CheckResult;
};

/** What one or several failures have in common, in words. The most urgent failure comes first. */
export type Cause = { title: string; failures: Failure[] };

/** Returns true if a reader has to act on the requirement. If only a stopped run cut it off, there is nothing to do. */
export const needsAttention = ({ verdict, checks, knownFailure, reason }: RequirementResult) =>
  verdict === "fail" ||
  (verdict === "warn" && !knownFailure) ||
  (verdict === "could-not-run" && checks.length > 0 && reason?.code !== "stopped");

/** Returns the exchange that shows the failure of a check; undefined if no single exchange shows it. */
export const shownBy = (check: CheckResult): Exchange | undefined =>
  check.exchanges.find(({ id }) => id === check.shownBy);

/** Describes the request with which the target first contradicted the requirement; undefined if no request shows it. */
export function firstRequest({ exchanges, contradictedBy }: CheckResult): string | undefined {
  const exchange = exchanges.find(({ id }) => id === contradictedBy);
  return exchange && `#${exchange.id} ${exchange.method} ${exchange.url}, ${exchange.status ?? "no response"}`;
}

/** What the rules know about a failure. */
type Evidence = {
  id: string;
  expected: string;
  actual: string;
  exchange: Exchange | undefined;
  /** The status of the exchange that shows the failure; 0 without one. */
  status: number;
  /** True if the request was valid, so that a conforming service accepts it. */
  isValid: boolean;
};

function evidenceOf({ requirement: { id }, check }: Failure): Evidence {
  const exchange = shownBy(check);
  const { expected, actual } = check;
  const status = exchange?.status ?? 0;
  return { id, expected, actual, exchange, status, isValid: /^(a )?(200|2xx)\b/.test(expected) };
}

/**
 * True if the target handles a request that it must refuse with 401. A 5xx does not show that: the target may fail for
 * every request.
 */
const isUnprotected = ({ expected, exchange, status }: Evidence) =>
  exchange !== undefined && /^401\b/.test(expected) && status > 0 && status < 500 && status !== 401 && status !== 429;

const lacksResponse = (text: RegExp) => (evidence: Evidence) =>
  evidence.exchange !== undefined && evidence.status === 0 && text.test(evidence.exchange.failure ?? "");

/**
 * Explanations of failures, where the evidence shows more than the `fix` of the requirement says. The first whose
 * condition is true applies.
 */
const explanations: [when: (evidence: Evidence) => boolean, explanation: string][] = [
  [
    lacksResponse(/no complete response/),
    "The target did not respond within --timeout. A handler may wait for something that never happens, such as a lock or another service.",
  ],
  [
    lacksResponse(/closed without/),
    "The process or a proxy closed the connection. A crash in the handler does this; see the target's log.",
  ],
  [
    ({ id, status, actual }) =>
      (/duplicate|reference-unique|failed-counts|lost-answer/.test(id) && status >= 500) ||
      (id.includes("race") && /\d × 200.*\d × 5\d\d/.test(actual)),
    "The unique constraint of the database works, but its error is not turned into 409. Catch the violation and respond with 409.",
  ],
  [
    ({ id, actual }) => id.includes("race") && /^([2-9]|\d\d+) × 200/.test(actual),
    "The reference is looked up first and inserted later. Concurrent requests all find nothing. Only a unique constraint in the database prevents this.",
  ],
  [
    ({ id, status }) => id.startsWith("create.duplicate-refused") && status >= 200 && status < 300,
    "There is no unique constraint on merchant and reference, or it covers more fields, such as amount, phone number or country.",
  ],
  [
    ({ status, exchange, isValid }) => isValid && status === 404 && /^GET \S+\{reference\}$/.test(routeOf(exchange!)),
    "The record is not found right after it was created: a read replica that lags behind, a lookup by another reference or merchant, or a create that responds before its commit.",
  ],
  [
    ({ status, isValid }) => status === 401 && isValid,
    "The key is valid for some requests only. Check its permissions and the environment that it belongs to.",
  ],
  [({ status }) => status === 429, "The target limits the rate of requests. Set --rate to what it allows."],
  [
    ({ exchange }) => /html/i.test(exchange?.responseHeaders?.["content-type"] ?? ""),
    "A proxy or the error page of a framework responds, not the service itself.",
  ],
  [
    ({ status, exchange, isValid }) => status >= 500 && exchange?.requestBody !== undefined && !isValid,
    "The value reaches code or a database column that cannot take it. Validate the body before using it.",
  ],
];

const outage = "The target fails for valid requests too, so fix this failure first. The target's log shows the error.";

/** Returns the text without the parts that differ between two occurrences of the same error. */
const withoutDetails = (text: string) =>
  text
    .replaceAll(/"[^"]*"|\b\w*\d[\w-]*\b/g, "…")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 80);

/** Returns the error that a body states. A long body was cut off, so it is not parsed. */
function errorIn(body: string): string {
  const [, error] = /"(?:error|message)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body) ?? [];
  return withoutDetails(
    error?.replaceAll(/\\(.)/g, "$1") ?? (body.startsWith("{") ? "" : body.replaceAll(/<[^>]*>/g, " ")),
  );
}

const longestTitle = 120;
const refusal = /^(?:a )?((?:4\d\d|4xx)(?:(?:, | or )\d{3})*)/;

function routeOf({ method, url }: Exchange): string {
  const path = URL.canParse(url) ? new URL(url).pathname : url;
  return `${method} ${path.replace(/(\/v1\/\w+\/).+$/, "$1{reference}")}`;
}

/** Returns what a failure has in common with other failures of the same cause: a key, and a description of it. */
function symptomOf({ requirement, check }: Failure): { key: string; symptom: string } {
  const evidence = evidenceOf({ requirement, check });
  const { exchange, status, actual } = evidence;
  if (!exchange) {
    const about = withoutDetails(actual);
    return about === ""
      ? { key: requirement.id, symptom: requirement.text }
      : { key: about, symptom: actual.slice(0, longestTitle) };
  }
  const route = routeOf(exchange);
  if (isUnprotected(evidence))
    return { key: `${route} 401`, symptom: `${route} responds with ${status} instead of 401` };
  const { failure = "unknown reason", responseBody = "" } = exchange;
  if (status === 0) return { key: `none ${withoutDetails(failure)}`, symptom: `No response: ${failure}` };
  const [, refused] = refusal.exec(check.expected) ?? [];
  if (status < 300 && refused === undefined)
    return { key: `exchange ${exchange.id} ${exchange.at}`, symptom: requirement.text };
  const symptom =
    status < 300
      ? `${route} is accepted with ${status} instead of refused with ${refused}`
      : `The target responds with ${status} ${errorIn(responseBody)}`.trim();
  return { key: symptom, symptom };
}

/** 0 for musts that failed, then musts that could not be judged, then the rest. */
const urgencyOf = ({ level, verdict }: RequirementResult) => (level !== "must" ? 2 : verdict === "fail" ? 0 : 1);

/** Returns the id of the request that showed the failure. A failure that no request shows comes last. */
const placeOf = ({ contradictedBy = Number.MAX_SAFE_INTEGER }: CheckResult) => contradictedBy;

/** Puts the most urgent failures first, and equally urgent ones in the order in which the target's requests showed them. */
const byUrgency = (a: Failure, b: Failure) =>
  urgencyOf(a.requirement) - urgencyOf(b.requirement) || placeOf(a.check) - placeOf(b.check);

/** Returns the check that shows a requirement's failure: the earliest one that has the requirement's verdict. */
const shownCheck = ({ checks, verdict }: RequirementResult) =>
  checks.filter((check) => check.verdict === verdict).toSorted((a, b) => placeOf(a) - placeOf(b))[0] ?? checks[0];

/** Returns true if the target failed for a valid request, which explains its other failures with the same error. */
function isOutage(failure: Failure): boolean {
  const { isValid, status } = evidenceOf(failure);
  return isValid && status >= 500;
}

/** Explains what a group of failures has in common; undefined if the evidence does not support an explanation. */
function explanationOf([first, ...others]: readonly Failure[]): string | undefined {
  const { profile, verdict } = first!.requirement;
  // The rules are about services.
  if (isSide(profile) || verdict === "could-not-run") return undefined;
  if (others.length > 0 && isOutage(first!)) return outage;
  const evidence = evidenceOf(first!);
  return explanations.find(([when]) => when(evidence))?.[1];
}

/**
 * Groups the requirements that need attention by cause. Causes of failed musts come in the order in which their
 * requests contradicted the contract, because later failures may follow from earlier failures.
 */
export function causesOf({ requirements }: Pick<Report, "requirements">): Cause[] {
  const found = requirements.filter(needsAttention).flatMap((requirement): Failure[] => {
    const check = shownCheck(requirement);
    return check ? [{ requirement, check }] : [];
  });
  const groups = Map.groupBy(found.toSorted(byUrgency), (failure) => symptomOf(failure).key);
  return [...groups.values()]
    .toSorted((a, b) => byUrgency(a[0]!, b[0]!) || b.length - a.length)
    .map((members) => {
      const failures = members.toSorted((a, b) => Number(isOutage(b)) - Number(isOutage(a)));
      const { symptom } = symptomOf(failures[0]!);
      const explanation = explanationOf(failures);
      return { title: explanation === undefined ? symptom : `${symptom.replace(/\.$/, "")}. ${explanation}`, failures };
    });
}
