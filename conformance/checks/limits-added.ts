// Finds and proves the limits that the target adds to what the interface leaves open (§8, D45).
import type { Check } from "../check.ts";
import { findLimits, mostPayouts, NotAsked } from "../allowances/find.ts";
import { largestTried } from "./numbers.ts";
import { someAddress, usualAmount } from "./requests.ts";

const id = "limits.added";

export const checks: Check[] = [
  {
    name: "Finds and proves the limits of the target",
    ids: [id],
    phase: "limits",
    effect: "moves-money",
    payouts: mostPayouts,
    amount: (options) => [largestTried(options), ...Array<number>(mostPayouts - 1).fill(usualAmount)],
    async run(context) {
      const { options, limits } = context;
      const address = () => someAddress(context).replace(/^https:/, "http:");
      try {
        const { throttled, unproved } = await findLimits(options, {
          ...context,
          largest: largestTried(options),
          address,
        });
        context.observe(id, "limits", limits.found);
        if (unproved.length > 0) {
          const fields = unproved.join(", ");
          context.couldNotRun(id, `declared, but not proved, because of the budget or of slow responses: ${fields}`);
        }
        if (throttled !== undefined) context.couldNotRun(id, `${throttled} Declare velocity in certify.yaml.`);
      } catch (error) {
        if (error instanceof NotAsked) context.couldNotRun(id, error.message);
        else throw error;
      } finally {
        limits.freeze();
      }
    },
  },
];
