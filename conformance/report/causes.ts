// Groups failures that have one cause, and sorts the groups by what a reader should fix first.
import type { CheckResult, Report, RequirementResult } from "../results.ts";
import { expectsSuccess, isUnprotected, likelyCause, outsideMiddleware, shownBy } from "./likely.ts";

export type Failure = {
  requirement: RequirementResult;
  /** The check that shows the failure. */
  check: CheckResult;
  likely?: string;
};

/** What several failures have in common. */
export type Cause = { title: string; failures: Failure[] };

/**
 * Returns true if a reader has to act on the requirement. A reader need not act on a failure that is known and
 * tolerated, or on a requirement that was not judged for a reason that concerns the whole run.
 */
export const needsAttention = ({ verdict, checks, knownFailure, reason }: RequirementResult) =>
  verdict === "fail" ||
  (verdict === "warn" && !knownFailure) ||
  (verdict === "could-not-run" && checks.length > 0 && reason?.code !== "stopped");

/** Returns the text without the parts that differ between two occurrences of the same error. */
const withoutDetails = (text: string) =>
  text
    .replaceAll(/"[^"]*"|\b\w*\d[\w-]*\b/g, "…")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 80);

function errorIn(body: string): string {
  try {
    const { error, message } = JSON.parse(body) as { error?: unknown; message?: unknown };
    const text = error ?? message;
    return typeof text === "string" ? withoutDetails(text) : "";
  } catch {
    // A long body was cut off, so it may be the beginning of a JSON object.
    const [, error] = /"error"\s*:\s*"([^"]*)"/.exec(body) ?? [];
    return withoutDetails(error ?? body.replaceAll(/<[^>]*>/g, " "));
  }
}

const longestTitle = 120;
const refusal = /^(?:a )?((?:4\d\d|4xx)(?:(?:, | or )\d{3})*)/;

function routeOf(method: string, url: string): string {
  const path = URL.canParse(url) ? new URL(url).pathname : url;
  return `${method} ${path.replace(/(\/v1\/\w+\/).+$/, "$1{reference}")}`;
}

/** Describes the request with which the target first contradicted the requirement; undefined if no request shows it. */
export function firstRequest({ exchanges, contradictedBy }: CheckResult): string | undefined {
  const exchange = exchanges.find(({ id }) => id === contradictedBy);
  return exchange && `#${exchange.id} ${exchange.method} ${exchange.url}, ${exchange.status ?? "no response"}`;
}

/** Describes what the failure of a check has in common with other failures of the same cause. */
function causeOf({ id, text }: RequirementResult, check: CheckResult): { key: string; title: string } {
  const exchange = shownBy(check);
  if (!exchange) {
    const about = withoutDetails(check.actual);
    return about === "" ? { key: id, title: text } : { key: about, title: check.actual.slice(0, longestTitle) };
  }
  const { status, method, url, failure = "unknown reason" } = exchange;
  if (isUnprotected(check)) {
    const route = routeOf(method, url);
    return { key: `${route} 401`, title: `${route} responds with ${status} instead of 401: ${outsideMiddleware}` };
  }
  if (status === undefined) return { key: `none ${withoutDetails(failure)}`, title: `No response: ${failure}` };
  if (status >= 300) {
    const error = errorIn(exchange.responseBody ?? "");
    return { key: `${status} ${error}`, title: `The target responds with ${status} ${error}`.trim() };
  }
  const [, refused] = refusal.exec(check.expected) ?? [];
  if (refused === undefined) return { key: `exchange ${exchange.id}`, title: text };
  const title = `${routeOf(method, url)} is accepted with ${status} instead of refused with ${refused}`;
  return { key: title, title };
}

/** 0 for musts that failed, then musts that could not be judged, then the rest. */
function urgencyOf({ requirement }: Failure): number {
  if (requirement.level !== "must") return 2;
  return requirement.verdict === "fail" ? 0 : 1;
}

/** Returns true if the requirement is about the status that was received, and not about another status. */
const isAboutStatus = ({ check }: Failure) => check.expected.startsWith(String(shownBy(check)?.status));

/** Returns the id of the request that showed the failure. A failure that no request shows comes last. */
const placeOf = ({ contradictedBy = Number.MAX_SAFE_INTEGER }: CheckResult) => contradictedBy;

/**
 * Puts the most urgent failures first. Failures that are equally urgent are in the order in which the target's requests
 * showed them.
 */
const inOrder = (a: Failure, b: Failure) =>
  urgencyOf(a) - urgencyOf(b) ||
  placeOf(a.check) - placeOf(b.check) ||
  Number(isAboutStatus(b)) - Number(isAboutStatus(a));

/**
 * If a target responds with a 5xx to valid requests too, replaces the likely causes of all failures with this cause.
 */
function explainOutage({ failures }: Cause) {
  const valid = failures.find(({ check }) => expectsSuccess(check) && (shownBy(check)?.status ?? 0) >= 500);
  if (!valid || failures.length === 1) return;
  for (const failure of failures) delete failure.likely;
  valid.likely =
    "The target fails for valid requests too, so fix this failure first. The target's log shows the error.";
  failures.splice(failures.indexOf(valid), 1);
  failures.unshift(valid);
}

/** Returns the check that shows a requirement's failure: the first failed check that has the requirement's verdict. */
const shownCheck = ({ checks, verdict }: RequirementResult) =>
  checks.filter((check) => check.verdict === verdict).toSorted((a, b) => placeOf(a) - placeOf(b))[0] ?? checks[0];

/**
 * Groups the requirements that need attention by cause. Causes of failed musts come in the order in which their
 * requests contradicted the contract, because later failures may follow from earlier failures.
 */
export function causesOf({ requirements }: Pick<Report, "requirements">): Cause[] {
  const causes = new Map<string, Cause>();
  for (const requirement of requirements.filter(needsAttention)) {
    const check = shownCheck(requirement);
    if (!check) continue;
    const { key, title } = causeOf(requirement, check);
    const likely = requirement.verdict === "could-not-run" ? undefined : likelyCause(requirement, check);
    const cause = causes.get(key) ?? { title, failures: [] };
    cause.failures.push({ requirement, check, ...(likely === undefined ? {} : { likely }) });
    causes.set(key, cause);
  }
  for (const cause of causes.values()) {
    cause.failures.sort(inOrder);
    explainOutage(cause);
  }
  const firstOf = ({ failures }: Cause) => failures.toSorted(inOrder)[0]!;
  return [...causes.values()].toSorted(
    (a, b) => inOrder(firstOf(a), firstOf(b)) || b.failures.length - a.failures.length,
  );
}
