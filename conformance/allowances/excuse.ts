// Says which failures a limit of the target excuses: those whose evidence is a request that met the limit.
import { describeResponse, Prerequisite } from "../check.ts";
import type { NotJudged, Requirement } from "../results.ts";
import type { TargetResponse } from "../target/exchange.ts";

/** The extended profile has its own limits (D15), so a limit of the target excuses nothing there. */
const isExcusable = (requirement: Requirement | undefined) => requirement?.profile === "core";

const because = (limit: string): NotJudged => ({ code: "target", text: `the target refuses ${limit}` });

/** Returns why a failed finding does not count; undefined if it counts. */
export function excuseOf(requirement: Requirement | undefined, evidence: readonly TargetResponse[]) {
  const limit = evidence.find((response) => response.limit !== undefined)?.limit;
  return limit !== undefined && isExcusable(requirement) ? because(limit) : undefined;
}

/**
 * Returns why a requirement that a check did not judge does not fail; undefined if it fails. The check must have thrown
 * a `Prerequisite` that names only responses like the last one, which met a limit.
 */
export function excuseOfUnjudged(
  requirement: Requirement | undefined,
  thrown: unknown,
  last: TargetResponse | undefined,
) {
  if (!(thrown instanceof Prerequisite) || !last) return undefined;
  const namesOthers = !/^(; )*$/.test(thrown.actual.replaceAll(describeResponse(last), ""));
  return namesOthers ? undefined : excuseOf(requirement, [last]);
}
