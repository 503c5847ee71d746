// The vocabulary of the checks: each function states one expectation about the target, records it as a finding, and
// returns true if the target meets it.
import { isDeepStrictEqual } from "node:util";
import { describeResponse, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";

const shown = (value: unknown) => JSON.stringify(value) ?? "missing";

/**
 * Expects a status, or one of several.
 * @param when what the status is expected for, such as "for a duplicate reference"
 */
export function expectStatus(
  context: Context,
  id: string,
  response: TargetResponse,
  status: number | readonly number[],
  when: string,
): boolean {
  const allowed = typeof status === "number" ? [status] : status;
  const ok = response.status !== undefined && allowed.includes(response.status);
  return context.judge(id, ok, `${allowed.join(" or ")} ${when}`, describeResponse(response), [response]);
}

/** Expects two JSON values to be equal. The order of the fields of an object does not matter. */
export function same(
  context: Context,
  id: string,
  { what, actual, expected }: { what: string; actual: unknown; expected: unknown },
  evidence?: readonly TargetResponse[],
): boolean {
  const ok = isDeepStrictEqual(actual, expected);
  return context.judge(id, ok, `${what} ${shown(expected)}`, `${what} ${shown(actual)}`, evidence);
}
