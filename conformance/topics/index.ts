// Collects what the topics export, so that a new topic needs no entry in a list.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../check.ts";

export { watches } from "./answers/watches.ts";

const here = import.meta.dirname;
const topics = readdirSync(here)
  .filter((name) => !name.includes("."))
  .toSorted();

/** Imports the file of this name from each topic that has one, in the order of the topics' names. */
export const modulesOf = <T>(name: "checks" | "faults"): Promise<T[]> =>
  Promise.all(
    topics.flatMap((topic) => {
      const file = readdirSync(join(here, topic)).find((each) => new RegExp(`^${name}\\.[jt]s$`).test(each));
      return file === undefined ? [] : (import(new URL(`${topic}/${file}`, import.meta.url).href) as Promise<T>);
    }),
  );

/** The checks of all topics. Closing checks run in this order, those with `offline` last. */
export const checks: readonly Check[] = (await modulesOf<{ checks: Check[] }>("checks")).flatMap((each) => each.checks);
