// Servers that refuse valid inputs of a kind.
import type { Faults } from "../../broken/fault.ts";
import { refuses } from "../../broken/changes.ts";

export const faults: Faults = {
  "inputs.coverage: A webhookURL with a plus sign in its path is refused.": refuses(({ webhookURL }) =>
    /\+[^?]*\?/.test(String(webhookURL)),
  ),
};
