// Collects the checks of all topics, and exports the watches.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../check.ts";
import { collect } from "../collect.ts";

export { watches } from "./answers/watches.ts";

const topics = readdirSync(import.meta.dirname)
  .filter((name) => !name.includes("."))
  .toSorted();

/** The checks of all topics. Closing checks run in this order, and those that send no requests come last. */
export const checks: readonly Check[] = (
  await Promise.all(topics.map((topic) => collect<Check>(join(import.meta.dirname, topic), "checks")))
).flat();
