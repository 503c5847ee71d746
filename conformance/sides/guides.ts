// Describes what the commands for sides do, for `certify explain`.
import type { Side } from "../results.ts";
import { idsOf } from "./client/judge.ts";
import { scenarios } from "./client/scenarios.ts";

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
    total: scenarios.length,
    judging: (id) => scenarios.filter((scenario) => idsOf(scenario).includes(id)),
  },
};
