// Describes `certify client` and `certify receiver`, for `certify explain`.
import type { Side } from "../results.ts";
import { scenarios as clientScenarios } from "./client/scenarios.ts";
import { scenarios as receiverScenarios } from "./receiver/run.ts";
import type { Described } from "./run.ts";

/** The command that judges a program, and its scenarios. */
export const guides: Record<Side, { run: string; scenarios: readonly Described[] }> = {
  client: { run: "npx --no -- certify client --command CMD", scenarios: clientScenarios },
  receiver: {
    run: "npx --no -- certify receiver --url URL --effects-url URL",
    scenarios: receiverScenarios,
  },
};
