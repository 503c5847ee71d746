// Plans the payouts of a run: chooses amounts, countries, currencies and phone numbers for the conditions of inputs.ts.
// Replaces the values that the run cannot try.
import { allowsMadeUpNumbers, type CheckOptions } from "../run-options.ts";
import { commonPairs, dollars, otherPairs, type Pair } from "./countries.ts";
import { conditionsOf, usual, valuesOf, type Conditions, type Name } from "./inputs.ts";
import { createRandom } from "./random.ts";

/** The largest amount, in the lowest denomination, of a payout for whose check the amount does not matter. */
export const usualAmount = 1000;
/** The countries in which every target is tried. */
export const places = [dollars, ...commonPairs];

export type Planned = {
  conditions: Conditions;
  amount: number;
  pair: Pair;
  /** The pairs whose currency and phone number are used, if the conditions ask for those of another country. */
  currency: Pair;
  number: Pair;
  /** The values that are not tried, each with the reason. */
  untried: Record<string, string>;
};
/** The largest share of `--max-total` that one payout may have, so that the other checks fit into it too. */
const mostOfTotal = 1 / 100;
const roundAmounts = [1, 5, 2].flatMap((digit) => Array.from({ length: 16 }, (_, zeros) => digit * 10 ** zeros));

/** Returns why a run cannot try the value of a dimension; undefined if it can. */
function obstacle(options: CheckOptions, { ending, amount }: Conditions, name: Name): string | undefined {
  if (!allowsMadeUpNumbers(options)) {
    if (["place", "currency", "number"].includes(name)) return "only the recipient's own country is paid";
    if (name === "amount" && amount.least > usualAmount) return "a real recipient is paid";
  }
  if (name === "amount" && amount.most > options.maxTotal * mostOfTotal) return "--max-total";
  return name === "ending" && ending.fails && options.failingRecipient === undefined
    ? "--failing-recipient was not given"
    : undefined;
}

/** Replaces values by the usual ones, and records why. `reasonOf` returns undefined for a dimension to keep. */
export function without<Kind extends Planned>(planned: Kind, reasonOf: (name: Name) => string | undefined): Kind {
  const untried = { ...planned.untried };
  const replaced: Name[] = [];
  for (const [name, { what }] of valuesOf(planned.conditions)) {
    const why = reasonOf(name);
    if (why === undefined) continue;
    untried[what] = why;
    replaced.push(name);
  }
  return { ...planned, untried, conditions: usual(planned.conditions, replaced) };
}

export function planOf(options: CheckOptions): Planned[] {
  const random = createRandom(options.seed, "amounts");
  const turns = new Map<string, number>();
  /** Returns the next of these values each time it is called for the same purpose. */
  function inTurn<Each>(purpose: string, all: readonly Each[]): Each {
    const turn = turns.get(purpose) ?? 0;
    turns.set(purpose, turn + 1);
    return all[turn % all.length]!;
  }
  return conditionsOf(options.seed).map((conditions) => {
    const { place } = conditions;
    const { pair = inTurn("further", otherPairs) } = place;
    const others = places.filter((each) => each !== pair);
    const [currency, number] = (["currency", "number"] as const).map((name) =>
      conditions[name].foreign ? inTurn(`${name} ${place.what}`, others) : pair,
    ) as [Pair, Pair];
    const planned = { conditions, pair, currency, number, amount: 0, untried: {} };
    const possible = without(planned, (name) => obstacle(options, conditions, name));
    const { least, most } = possible.conditions.amount;
    const rounds = roundAmounts.filter((amount) => amount >= least && amount <= most);
    if (possible.conditions.digits.round && rounds.length > 0)
      return { ...possible, amount: inTurn(`round from ${least}`, rounds) };
    // The distribution is logarithmic, so that small and large amounts are equally likely.
    return { ...possible, amount: Math.min(most, Math.floor(least * (most / least) ** (random(0, 999) / 1000))) };
  });
}
