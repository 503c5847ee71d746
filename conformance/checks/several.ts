/**
 * Does the same for each item, several at a time, and returns the results in order. If one throws, waits for those in
 * progress first, so that nothing happens after the check.
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
