// The vocabulary of the checks: each function states one expectation about the target, records it as a finding, and
// returns true if the target meets it.
import { isDeepStrictEqual } from "node:util";
import { describeResponse, type Context, type Evidence } from "../check.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { checkoutBody, dataOf, disbursementBody, payInvalid, startInvalidCheckout } from "./requests.ts";

type Status = number | "2xx" | "4xx";

const shown = (value: unknown) => JSON.stringify(value) ?? "missing";

const is = ({ status }: TargetResponse, expected: Status) =>
  typeof expected === "number"
    ? status === expected
    : status !== undefined && Math.floor(status / 100) === Number(expected[0]);

/**
 * Expects a status, or one of several.
 * @param when what the status is expected for, such as "for a duplicate reference"
 */
export function expectStatus(
  context: Context,
  id: string,
  response: TargetResponse,
  status: Status | readonly Status[],
  when: string,
  evidence: Evidence = response,
): boolean {
  const allowed = [status].flat() as readonly Status[];
  const ok = allowed.some((each) => is(response, each));
  const expected = allowed.map((each) => (typeof each === "number" ? each : `a ${each}`)).join(" or ");
  return context.judge(id, ok, `${expected} ${when}`, describeResponse(response), evidence);
}

/**
 * Expects a 200 whose `data` has these values.
 * @param when what they are expected for, such as "for an amount of 1"
 */
export function expectData(
  context: Context,
  id: string,
  response: TargetResponse,
  fields: Readonly<Record<string, unknown>>,
  when: string,
  evidence: Evidence = response,
): boolean {
  const data = dataOf(response);
  const names = Object.keys(fields);
  const ok = response.status === 200 && names.every((name) => isDeepStrictEqual(data[name], fields[name]));
  const list = (of: Readonly<Record<string, unknown>>) =>
    names.map((name) => `${name} ${shown(of[name])}`).join(" and ");
  const actual = response.status === 200 ? `${list(data)} in ` : "";
  return context.judge(id, ok, `200 with ${list(fields)} ${when}`, actual + describeResponse(response), evidence);
}

/** Expects a response to be as described. */
export const shows = (
  context: Context,
  id: string,
  response: TargetResponse,
  ok: boolean,
  expected: string,
  evidence: Evidence = response,
): boolean => context.judge(id, ok, expected, describeResponse(response), evidence);

/**
 * Expects a condition to hold.
 * @param otherwise describes, for people, what was found if it does not hold
 */
export const holds = (
  context: Context,
  id: string,
  ok: boolean,
  expected: string,
  otherwise: string,
  evidence: Evidence = context.responses,
): boolean => context.judge(id, ok, expected, ok ? "as expected" : otherwise, evidence);

/** Expects two JSON values to be equal. The order of the fields of an object does not matter. */
export function same(
  context: Context,
  id: string,
  { what, actual, expected }: { what: string; actual: unknown; expected: unknown },
  evidence: Evidence = context.responses,
): boolean {
  const ok = isDeepStrictEqual(actual, expected);
  return context.judge(id, ok, `${what} ${shown(expected)}`, `${what} ${shown(actual)}`, evidence);
}

/**
 * Expects an examination to find no faults.
 * @param expected describes, for people, what has no faults
 */
export function expectNoFaults(
  context: Context,
  id: string,
  expected: string,
  faults: readonly string[],
  evidence: Evidence = context.responses,
): boolean {
  return holds(context, id, faults.length === 0, expected, faults.join(", "), evidence);
}

/**
 * Sends the same fault in a disbursement and in a checkout, and expects this status for both.
 * @param fault returns the faulty request, given the body of a valid one
 */
export async function bothRefused(
  context: Context,
  id: string,
  status: number,
  what: string,
  fault: (valid: Record<string, unknown>) => Pick<TargetRequest, "json" | "body" | "headers">,
) {
  const payout = await payInvalid(context, undefined, fault(disbursementBody(context)));
  expectStatus(context, id, payout, status, `for a disbursement with ${what}`);
  const checkout = await startInvalidCheckout(context, undefined, fault(checkoutBody(context)));
  expectStatus(context, id, checkout, status, `for a checkout with ${what}`);
}
