// All scenarios of `certify client`.
import { conflicts } from "./conflicts.ts";
import { crossed } from "./crossed.ts";
import { inputs } from "./inputs.ts";
import { lostAnswers } from "./lost-answers.ts";
import { rates } from "./rates.ts";
import { restarts } from "./restarts.ts";
import { idsOf, type Scenario } from "./scenario.ts";

const all: readonly Scenario[] = [
  // Scenarios that wait for long come first, so that others run meanwhile and a run does not end with a wait.
  ...lostAnswers,
  ...rates,
  ...restarts,
  ...crossed,
  ...conflicts,
  ...inputs,
];

export const scenarios = all.map((scenario) => ({ ...scenario, ids: idsOf(scenario) }));
