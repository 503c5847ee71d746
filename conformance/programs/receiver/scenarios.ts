import { eventScenarios } from "./event-scenarios.ts";
import { repeatScenarios } from "./repeat-scenarios.ts";
import { requestScenarios } from "./request-scenarios.ts";
import type { Scenario } from "./scenario.ts";
import { signatureScenarios } from "./signature-scenarios.ts";

/** All scenarios, in the order in which a run executes them. */
export const scenarios: readonly Scenario[] = [
  ...eventScenarios,
  ...signatureScenarios,
  ...requestScenarios,
  ...repeatScenarios,
];
