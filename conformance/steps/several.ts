import type { Context } from "../check.ts";

/**
 * Returns how many invalid requests may be in transit. With `--effects reject`, the first accepted request ends the
 * run, so no other request may be in transit.
 */
export const invalidAtOnce = ({ options }: Context): number => (options.effects === "money" ? 10 : 1);

/**
 * Does the same for each item, several at a time, and returns the results in order. If one call throws, waits for the
 * calls in progress first, so that nothing happens after the check.
 */
export async function several<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    const settled = await Promise.allSettled(items.slice(start, start + atOnce).map(work));
    for (const each of settled) {
      if (each.status === "rejected") throw each.reason;
      results.push(each.value);
    }
  }
  return results;
}
