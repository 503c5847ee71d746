// Every check there is, and the requirements that have none yet.
import type { Check } from "../check.ts";
import { authChecks } from "./auth.ts";
import { checkoutChecks } from "./checkout.ts";
import { createChecks } from "./create.ts";
import { dreddChecks } from "./dredd.ts";
import { duplicateChecks } from "./duplicates.ts";
import { invalidChecks } from "./invalid.ts";
import { jsonChecks } from "./json.ts";
import { verifyChecks } from "./verify.ts";

export { pending } from "./pending.ts";
export { watches } from "./watches.ts";

export const checks: readonly Check[] = [
  ...authChecks,
  ...jsonChecks,
  ...createChecks,
  ...invalidChecks,
  ...duplicateChecks,
  ...verifyChecks,
  ...checkoutChecks,
  ...dreddChecks,
];
