import { createHash } from "node:crypto";
import type { Check } from "../check.ts";
import { permits } from "../target/ledger.ts";
import type { RunOptions } from "../run-options.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { effects, type Report, type Requirement } from "../results.ts";

/** Returns the requirements that the profile and `--only` select, by id. It does not take `--effects` into account. */
export function selectedRequirements({ profile, only }: Pick<Report, "profile" | "only">): Map<string, Requirement> {
  const chosen = requirementsOf(profile).filter(({ id }) => only?.includes(id) ?? true);
  return new Map(chosen.map((requirement) => [requirement.id, requirement]));
}

/**
 * Returns a sort key. The check that finds limits comes first, then the opening checks, whose records must be old
 * later, then the others by their effect. Closing checks come last, the offline ones after those that send requests.
 * The second number depends only on the seed and the name, so that selecting other checks does not change the order.
 */
function placeOf({ name, effect, phase, offline }: Check, seed: number): readonly [number, number] {
  if (phase === "limits") return [-1, 0];
  if (phase === "closing") return [offline ? 7 : 6, 0];
  const random = createHash("sha256").update(`${seed} ${name}`).digest().readUInt32BE();
  return [phase === "opening" ? 0 : 1 + effects.indexOf(effect), random];
}

export function inOrder(checks: readonly Check[], seed: number): Check[] {
  const placed = checks.map((check) => ({ check, place: placeOf(check, seed) }));
  return placed.toSorted((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]).map(({ check }) => check);
}

/** Returns the ids that only closing checks judge. Such a check needs the records that other checks create. */
function judgedAtTheEnd(checks: readonly Check[]): Set<string> {
  const closing = checks.filter(({ phase }) => phase === "closing").flatMap(({ ids }) => ids);
  const others = new Set(checks.filter(({ phase }) => phase !== "closing").flatMap(({ ids }) => ids));
  return new Set(closing.filter((id) => !others.has(id)));
}

/**
 * Returns the checks that judge a selected requirement and that the options allow, in the order in which they run. If
 * one of them creates payouts, the check that finds limits comes first. If `--only` names a requirement that is judged
 * on every response or only at the end, all checks of the profile that `--effects` allows are returned.
 * @param watched the ids of the requirements that are judged on every response
 */
export function selectedChecks(
  checks: readonly Check[],
  watched: readonly string[],
  options: Pick<RunOptions, "profile" | "only" | "effects" | "seed" | "payout">,
): Check[] {
  const needsAll = new Set([...watched, ...judgedAtTheEnd(checks)]);
  const all = options.only?.some((id) => needsAll.has(id)) ?? false;
  const ids = selectedRequirements(all ? { profile: options.profile } : options);
  const selected = checks.filter(
    ({ ids: judged, effect, existing }) =>
      judged.some((id) => ids.has(id)) &&
      permits(options.effects, effect) &&
      (!existing || options.payout !== undefined),
  );
  const pays = selected.some(({ effect }) => effect === "moves-money");
  const first = checks.filter(({ phase }) => pays && phase === "limits");
  return inOrder([...new Set([...first, ...selected])], options.seed);
}
