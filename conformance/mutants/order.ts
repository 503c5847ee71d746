// Decides which checks to try first on a mutant: checks that run its code and have caught mutants of the code around
// it.
import { atStart, type Coverage } from "./trial.ts";
import type { Mutant } from "./mutants.ts";

/** The share of the suite's time that the first attempt on a mutant may take. */
const share = 0.06;
/**
 * A server that takes longer than the usual duration times this factor hangs. The constant part covers the server's
 * start and waiting checks.
 */
const patience = { startMs: 20_000, factor: 6 };

type Place = Pick<Mutant, "file" | "where">;

const scopes = ({ file, where }: Place) =>
  [
    ["", 1],
    [file, 10],
    [`${file} ${where}`, 100],
  ] as const;

export function createOrder({ checks, reached }: Coverage) {
  const duration = new Map(checks.map(({ name, ms }) => [name, ms]));
  const budget = share * checks.reduce((sum, { ms }) => sum + ms, 0);
  const kills = new Map<string, number>();

  /** Returns how promising a check is for a place, by what it caught so far. */
  const score = (place: Place, name: string) =>
    scopes(place).reduce((sum, [scope, weight]) => sum + weight * (kills.get(`${scope} ${name}`) ?? 0), 0);

  const byPromise = (place: Place, names: readonly string[]) => {
    const scores = new Map(names.map((name) => [name, score(place, name)]));
    return names.toSorted((a, b) => scores.get(b)! - scores.get(a)! || duration.get(a)! - duration.get(b)!);
  };

  return {
    isReached: ({ id }: Mutant) => reached[id] !== undefined,
    learn(place: Place, check: string) {
      for (const [scope] of scopes(place)) kills.set(`${scope} ${check}`, (kills.get(`${scope} ${check}`) ?? 0) + 1);
    },
    /** Returns the most promising checks for a mutant that together fit into the time of a first attempt. */
    first(mutant: Mutant): string[] {
      const reaching = reached[mutant.id] ?? [];
      const candidates = reaching.includes(atStart) ? checks.map(({ name }) => name) : reaching;
      let spent = 0;
      return byPromise(mutant, candidates).filter(
        (name) => (spent += duration.get(name)!) <= budget || spent === duration.get(name),
      );
    },
    /** Returns how long these checks may take before the server counts as hanging. */
    patienceMs: (names: readonly string[]) =>
      patience.startMs + patience.factor * names.reduce((sum, name) => sum + duration.get(name)!, 0),
    /** Returns all checks for a group of mutants. */
    all: (group: readonly Mutant[]): string[] =>
      byPromise(
        group[0] ?? { file: "", where: "" },
        checks.map(({ name }) => name),
      ),
  };
}
