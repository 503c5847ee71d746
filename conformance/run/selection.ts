import type { Check } from "../check.ts";
import { permits } from "../target/ledger.ts";
import type { RunOptions } from "../run-options.ts";
import { catalogue, inProfile } from "../contract/requirements.ts";
import type { Requirement } from "../results.ts";

/** Returns the requirements that the profile and `--only` select, by id. It does not take `--effects` into account. */
export function selectedRequirements(options: Pick<RunOptions, "profile" | "only">): Map<string, Requirement> {
  const chosen = catalogue.filter(
    (requirement) => inProfile(requirement, options.profile) && (options.only?.includes(requirement.id) ?? true),
  );
  return new Map(chosen.map((requirement) => [requirement.id, requirement]));
}

const order = { none: 0, "must-be-rejected": 1, "moves-money": 2 };

/**
 * Returns the checks that judge a selected requirement and that `--effects` allows, the harmless ones first. If
 * `--only` names a requirement that is judged on every response, it returns all checks of the profile that `--effects`
 * allows.
 * @param watched the ids of the requirements that are judged on every response
 */
export function selectedChecks(
  checks: readonly Check[],
  watched: readonly string[],
  options: Pick<RunOptions, "profile" | "only" | "effects">,
): Check[] {
  const all = options.only?.some((id) => watched.includes(id)) ?? false;
  const ids = selectedRequirements(all ? { profile: options.profile } : options);
  return checks
    .filter((check) => check.ids.some((id) => ids.has(id)) && permits(options.effects, check.effect))
    .toSorted((a, b) => order[a.effect] - order[b.effect]);
}
