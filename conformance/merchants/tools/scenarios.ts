// All scenarios of `certify tools`.
import { crossed } from "./crossed.ts";
import type { ToolScenario } from "./stage.ts";
import { single } from "./single.ts";

// The longest scenarios come first, so that others run meanwhile.
export const scenarios: readonly ToolScenario[] = [
  ...crossed.filter(({ id }) => /^(blackout|silence)/.test(id)),
  ...single,
  ...crossed.filter(({ id }) => !/^(blackout|silence)/.test(id)),
];
