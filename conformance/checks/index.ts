// Collects the checks of all files in this folder, and exports the watches.
import type { Check } from "../check.ts";
import { collect } from "../collect.ts";

export { watches } from "./watches.ts";

/**
 * Closing checks run in this order, by the names of their files. The last check, in `webhooks-met.ts`, judges the
 * webhooks that all other checks cause.
 */
export const checks: readonly Check[] = await collect<Check>(import.meta.dirname, "checks");
