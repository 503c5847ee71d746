// All scenarios of `certify client`.
import { conflicts } from "./conflicts.ts";
import { foreignAnswers } from "./foreign-answers.ts";
import { inputs } from "./inputs.ts";
import { lostAnswers } from "./lost-answers.ts";
import { rates } from "./rates.ts";
import { restarts } from "./restarts.ts";
import type { Scenario } from "./scenario.ts";

export const scenarios: readonly Scenario[] = [
  ...lostAnswers,
  ...foreignAnswers,
  ...conflicts,
  ...rates,
  ...inputs,
  ...restarts,
];
