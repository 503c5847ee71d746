// Tries mutants. A first attempt on each mutant runs the few checks that are most likely to catch it. The remaining
// mutants run the whole suite in groups: if a server with the edits of many mutants passes, each mutant survives,
// unless one edit hides the effect of another. Edits of the same file hide each other most easily, so they are in
// different groups. Only an attempt on a single mutant counts as a catch.
import type { Mutant } from "./mutants.ts";
import type { createOrder } from "./order.ts";
import type { createPool } from "./pool.ts";
import type { Outcome } from "./trial.ts";

export type Row = Omit<Outcome, "verdict"> & { id: string; verdict: Outcome["verdict"] | "not reached" };

const groupSize = 16;
/** Enough suspects for a group to find mutants of this many files. */
const mostSuspects = 4 * groupSize;

type Deps = {
  pool: ReturnType<typeof createPool>;
  order: ReturnType<typeof createOrder>;
  record(row: Row): void;
  /** True if the mutants have survived before, so that a first attempt on each would rarely catch a mutant. */
  isRepeat: boolean;
  /** True if the time for the campaign is over. */
  isOver(): boolean;
};

export async function tryAll(mutants: readonly Mutant[], deps: Deps): Promise<void> {
  const suspects: Mutant[] = [];
  for (const mutant of mutants) {
    if (deps.isOver()) return;
    if (!deps.order.isReached(mutant)) deps.record({ id: mutant.id, verdict: "not reached", by: [] });
    else if (deps.isRepeat || !(await isCaught(mutant, deps.order.first(mutant), deps))) suspects.push(mutant);
    if (suspects.length >= mostSuspects) await tryGroup(takeGroup(suspects), suspects, deps);
  }
  while (suspects.length > 0 && !deps.isOver()) await tryGroup(takeGroup(suspects), suspects, deps);
}

/** Runs these checks against one mutant, and records it if it is caught. */
async function isCaught(mutant: Mutant, names: string[], { pool, order, record }: Deps): Promise<boolean> {
  const attempt = (checks: string[]) =>
    pool.attempt({ ids: [mutant.id], profile: "extended", names: checks }, order.patienceMs(checks));
  const outcome = await attempt(names);
  if (outcome.verdict === "survived" || outcome.verdict === "warned" || outcome.isPartial) return false;
  // On a busy machine a check may run out of time, so a check must catch the mutant twice.
  if (outcome.check !== undefined && (await attempt([outcome.check])).verdict !== "caught") return false;
  record({ id: mutant.id, ...outcome });
  if (outcome.check) order.learn(mutant, outcome.check);
  return true;
}

/** Removes a group from the suspects: at most one mutant of each file. */
function takeGroup(suspects: Mutant[]): Mutant[] {
  const files = new Map<string, Mutant>();
  for (const mutant of suspects) if (!files.has(mutant.file)) files.set(mutant.file, mutant);
  const group = [...files.values()].slice(0, groupSize);
  suspects.splice(0, suspects.length, ...suspects.filter((mutant) => !group.includes(mutant)));
  return group;
}

/** Runs the whole suite against a group. Puts mutants that need another attempt back among the suspects. */
async function tryGroup(group: Mutant[], suspects: Mutant[], deps: Deps): Promise<void> {
  const { pool, order, record } = deps;
  const ids = group.map(({ id }) => id);
  const names = order.all(group);
  const outcome = await pool.attempt({ ids, profile: "extended", names }, order.patienceMs(names));
  const { check, verdict, isPartial } = outcome;
  if ((verdict === "survived" && !isPartial) || group.length === 1) {
    if (check) order.learn(group[0]!, check);
    for (const id of ids) record({ id, ...outcome });
    return;
  }
  const left: Mutant[] = [];
  for (const mutant of check === undefined ? [] : group) {
    const single = await pool.attempt(
      { ids: [mutant.id], profile: "extended", names: [check!] },
      order.patienceMs([check!]),
    );
    const isLeft = single.verdict === "survived" || (single.verdict === "warned" && verdict !== "warned");
    if (isLeft || single.isPartial) left.push(mutant);
    else record({ id: mutant.id, ...single });
    if (single.verdict === "caught") order.learn(mutant, check!);
  }
  if (check !== undefined && left.length < group.length) return void suspects.unshift(...left);
  // Together the edits have an effect that no single edit has, or they stop the server.
  const half = Math.ceil(group.length / 2);
  await tryGroup(group.slice(0, half), suspects, deps);
  await tryGroup(group.slice(half), suspects, deps);
}
