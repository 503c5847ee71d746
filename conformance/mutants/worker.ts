// Tries the mutants that the parent process names. The parent ends this process if it hangs.
import { checks } from "../topics/index.ts";
import type { Check } from "../check.ts";
import type { Profile } from "../results.ts";
import { allMutants } from "./mutants.ts";
import { measure, tryMutants, type Coverage, type Outcome } from "./trial.ts";

/** Tries a server with the edits of all these mutants. Without `ids`, measures which checks reach which mutants. */
export type Task = {
  ids?: string[];
  profile: Profile;
  /** The names of the checks to run, in order. By default all checks run. */
  names?: string[];
};
export type Reply = { outcome?: Outcome; coverage?: Coverage };

if (new Set(checks.map(({ name }) => name)).size < checks.length) throw new Error("two checks have the same name");

const mutants = new Map(allMutants().map((mutant) => [mutant.id, mutant]));

/**
 * Returns the checks with these names, in the order of the names. Closing checks judge the effects of all other checks,
 * so they run only with all checks.
 */
function choose(names?: readonly string[]) {
  return (all: Check[]) => {
    if (!names) return all;
    const isWhole = names.length >= all.length;
    const chosen = names.flatMap((name) => all.filter((check) => check.name === name));
    const within = (phase: Check["phase"]) => chosen.filter((check) => check.phase === phase);
    return [...within("opening"), ...within(undefined), ...(isWhole ? within("closing") : [])];
  };
}

async function carryOut({ ids, profile, names }: Task): Promise<Reply> {
  if (!ids) return { coverage: await measure([...mutants.values()]) };
  const chosen = ids.map((id) => mutants.get(id)!);
  return { outcome: await tryMutants(chosen, profile, choose(names)) };
}

process.on("message", (task: Task) => void carryOut(task).then((reply) => process.send!(reply)));
process.on("disconnect", () => process.exit());
