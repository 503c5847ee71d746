// Describes `certify client` and `certify receiver`, for `certify explain`.
import type { Side } from "../results.ts";
import { idsOf } from "./client/judge.ts";
import { scenarios as clientScenarios } from "./client/scenarios.ts";
import { scenarios as receiverScenarios } from "./receiver/scenarios.ts";

type Guide = {
  /** The command that judges the program. */
  run: string;
  /** The scenarios, and the ids of the requirements that each judges. */
  scenarios: { id: string; name: string; ids: readonly string[] }[];
};

export const guides: Record<Side, Guide> = {
  client: {
    run: "npx --no -- certify client --command CMD",
    scenarios: clientScenarios.map((scenario) => ({ ...scenario, ids: idsOf(scenario) })),
  },
  receiver: {
    run: "npx --no -- certify receiver --url URL --effects-url URL",
    scenarios: [...receiverScenarios],
  },
};
