// The vocabulary of the checks: each function states one expectation about the target, records it as a finding, and
// returns true if the target meets it.
import type { Context, Evidence, Ids } from "../check.ts";
import { describeResponse, type TargetRequest, type TargetResponse, dataOf, isAccepted } from "../target/exchange.ts";
import { equal, textOf } from "../target/values.ts";
import { checkoutBody, disbursementBody } from "./bodies.ts";
import { payInvalid, startInvalidCheckout } from "./requests.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Status = number | "2xx" | "4xx";

const shown = (value: unknown) => JSON.stringify(value) ?? "missing";

const is = ({ status }: TargetResponse, expected: Status) =>
  typeof expected === "number"
    ? status === expected
    : status !== undefined && Math.floor(status / 100) === Number(expected[0]);

/**
 * Expects a status, or one of several statuses.
 * @param when the situation of the request, such as "for a duplicate reference"
 */
export function expectStatus(
  context: Context,
  id: Ids,
  response: TargetResponse,
  status: Status | readonly Status[],
  when: string,
  evidence: Evidence = response,
): boolean {
  const allowed = [status].flat() as readonly Status[];
  const ok = allowed.some((each) => is(response, each));
  const expected = allowed.map((each) => (typeof each === "number" ? each : `a ${each}`)).join(" or ");
  return context.judge(id, ok, `${expected} ${when}`, response, evidence);
}

/**
 * Expects a 200 whose `data` has these values.
 * @param when the situation of the request, such as "for an amount of 1"
 */
export function expectData(
  context: Context,
  id: RequirementId,
  response: TargetResponse,
  fields: Readonly<Record<string, unknown>>,
  when: string,
  evidence: Evidence = response,
): boolean {
  const data = dataOf(response);
  const names = Object.keys(fields);
  const ok = response.status === 200 && names.every((name) => equal(data[name], fields[name]));
  const list = (of: Readonly<Record<string, unknown>>) =>
    names.map((name) => `${name} ${shown(of[name])}`).join(" and ");
  const actual = response.status === 200 ? `${list(data)} in ` : "";
  return context.judge(id, ok, `200 with ${list(fields)} ${when}`, actual + describeResponse(response), evidence);
}

export type Fault = { expected?: string; actual: string; evidence: Evidence };

/** The most faults that are shown one by one. */
const mostShown = 50;

/**
 * Expects an examination of many things to find no faults.
 * @param examined says how many were examined, such as "12 records"
 */
export function expectNone(
  context: Context,
  id: RequirementId,
  expected: string,
  faults: readonly Fault[],
  examined: string,
) {
  for (const fault of faults.slice(0, mostShown))
    context.judge(id, false, fault.expected ?? expected, fault.actual, fault.evidence);
  if (faults.length === 0) context.judge(id, true, expected, `as expected in ${examined}`, []);
}

/** Expects one response to a burst of equal requests to be 200, and all others to be 409. */
export function expectOneAccepted(context: Context, id: RequirementId, responses: readonly TargetResponse[]): boolean {
  const counts = Map.groupBy(responses, ({ status }) => status ?? "no response");
  const actual = [...counts].map(([status, group]) => `${group.length} × ${status}`).join(", ");
  const others = responses.length - 1;
  const ok = counts.get(200)?.length === 1 && counts.get(409)?.length === others;
  return context.judge(id, ok, `1 × 200 and ${others} × 409`, actual, responses);
}

/**
 * Sends a request that must not show a record. Expects this status, and that the response has no value of the record.
 * @param whom says who must not see the record, such as "for another merchant"
 */
export async function expectHidden(
  context: Context,
  id: RequirementId,
  request: TargetRequest,
  { secrets, status, whom }: { secrets: readonly string[]; status: number | "no 2xx"; whom: string },
): Promise<TargetResponse> {
  const response = await context.target.send(request);
  const isRefused = status === "no 2xx" ? !isAccepted(response) : response.status === status;
  const isHidden = !secrets.some((secret) => response.text.includes(secret));
  const where = `at ${request.method} ${request.path.split("?")[0]}`;
  context.judge(id, isRefused && isHidden, `${status} and no record ${whom} ${where}`, response);
  return response;
}

/**
 * Expects two JSON values to be equal. The order of the fields of an object does not matter.
 * @param what names the value, such as "in the record, status"
 */
export const same = (
  context: Context,
  id: Ids,
  what: string,
  actual: unknown,
  expected: unknown,
  evidence?: Evidence,
): boolean =>
  context.judge(id, equal(actual, expected), `${what} ${shown(expected)}`, `${what} ${shown(actual)}`, evidence);

/**
 * Expects a refusal to list exactly these fields, and its message to name each of them.
 * @param rulesOf returns the rules that a field may be said to break; by default any rule
 */
export function expectFields(
  context: Context,
  response: TargetResponse,
  names: readonly string[],
  when: string,
  rulesOf?: (name: string) => readonly string[],
) {
  const { fields, message } = (response.json ?? {}) as { fields?: unknown; message?: unknown };
  const listed = Array.isArray(fields) ? (fields as { path?: unknown; code?: unknown }[]) : [];
  const areNamed = equal(listed.map(({ path }) => path).toSorted(), names.toSorted());
  const areRules = listed.every(({ path, code }) => rulesOf?.(textOf(path)).includes(textOf(code)) ?? true);
  const expected = `fields for ${names.join(" and ")}${rulesOf ? ", each with the rule that it breaks," : ""} ${when}`;
  context.judge("error-code.fields", areNamed && areRules, expected, response);
  const isTold = names.every((name) => new RegExp(`\\b${name}\\b`).test(textOf(message)));
  context.judge("error-body.names-fields", isTold, `a message that names ${names.join(" and ")} ${when}`, response);
}

/**
 * Sends the same fault in a disbursement and in a checkout, and expects this status for both.
 * @param fault returns the faulty request, given the body of a valid request
 */
export async function bothRefused(
  context: Context,
  id: RequirementId,
  status: number,
  what: string,
  fault: (valid: Record<string, unknown>) => Pick<TargetRequest, "json" | "body" | "headers">,
) {
  const payout = await payInvalid(context, undefined, fault(disbursementBody(context)));
  expectStatus(context, id, payout, status, `for a disbursement with ${what}`);
  const checkout = await startInvalidCheckout(context, undefined, fault(checkoutBody(context)));
  expectStatus(context, id, checkout, status, `for a checkout with ${what}`);
}
