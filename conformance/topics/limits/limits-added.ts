// Finds and proves the limits that the target adds to what the interface leaves open (§8, D45).
import type { Check } from "../../check.ts";
import { findLimits, mostPayouts, NothingToTry } from "../../allowances/find.ts";
import { allPairs } from "../../allowances/search.ts";
import type { CheckOptions } from "../../run-options.ts";
import { findDelay } from "../../steps/notifications.ts";
import { largestTried } from "../create/numbers.ts";
import { someAddress, usualAmount } from "../../steps/requests.ts";

const id = "limits.added";

const currencies = [...new Set(allPairs.map(({ currency }) => currency))];
/** Returns true if the budget covers the largest amount in every currency. */
const reachesCurrencies = ({ maxTotal }: CheckOptions) => maxTotal === Infinity;

export const checks: Check[] = [
  {
    name: "Finds and proves the limits of the target",
    ids: [id],
    phase: "limits",
    effect: "moves-money",
    // One more payout shows when its notification comes.
    payouts: mostPayouts + 1,
    amount: (options) => [
      largestTried(options),
      ...(reachesCurrencies(options) ? currencies.map(() => largestTried(options)) : []),
      ...Array<number>(mostPayouts).fill(usualAmount),
    ],
    async run(context) {
      const { options, limits } = context;
      const address = () => someAddress(context).replace(/^https:/, "http:");
      try {
        const { throttled, unproved } = await findLimits(options, {
          ...context,
          largest: largestTried(options),
          reachesCurrencies: reachesCurrencies(options),
          address,
        });
        if (throttled === undefined) await findDelay(context);
        context.observe(id, "limits", limits.found);
        if (unproved.length > 0) {
          const fields = unproved.join(", ");
          context.couldNotRun(id, `declared, but not proved, because of the budget or of slow responses: ${fields}`);
        }
        if (throttled !== undefined) context.couldNotRun(id, `${throttled} Declare velocity in certify.yaml.`);
      } catch (error) {
        if (error instanceof NothingToTry) context.couldNotRun(id, error.message);
        else throw error;
      } finally {
        limits.freeze();
      }
    },
  },
];
