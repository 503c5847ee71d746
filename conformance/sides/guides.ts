// Describes what the commands for sides do, for `certify explain`.
import type { Side } from "../results.ts";
import { idsOf } from "./client/judge.ts";
import { scenarios as clientScenarios } from "./client/scenarios.ts";
import { scenarios as receiverScenarios } from "./receiver/scenarios.ts";

type Guide = {
  /** The command that judges the side. */
  run: string;
  /** The number of scenarios. */
  total: number;
  /** Returns the scenarios that judge a requirement. */
  judging(id: string): { id: string; name: string }[];
};

export const guides: Record<Side, Guide> = {
  client: {
    run: "certify client --command CMD",
    total: clientScenarios.length,
    judging: (id) => clientScenarios.filter((scenario) => idsOf(scenario).includes(id)),
  },
  receiver: {
    run: "certify receiver --url URL --effects-url URL",
    total: receiverScenarios.length,
    judging: (id) => receiverScenarios.filter(({ ids }) => ids.includes(id)),
  },
};
