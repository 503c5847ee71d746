// Filters lists and cuts them into pages.
import { randomUUID } from "node:crypto";
import { refuse, type Query } from "./input.ts";
import type { Merchant } from "./merchant.ts";

type Item = { createdAt: string; reference: string; status?: string; merchantsReference?: string };

const fits =
  ({ status, reference, merchantsReference, from, to, ...times }: Query) =>
  (item: Item) => {
    const { createdAfter = from, createdBefore = to } = times;
    return (
      (status === undefined || item.status === status) &&
      (reference === undefined || item.reference === reference) &&
      (merchantsReference === undefined || item.merchantsReference === merchantsReference) &&
      (createdAfter === undefined || item.createdAt >= createdAfter) &&
      (createdBefore === undefined || item.createdAt < createdBefore)
    );
  };

/**
 * Returns a page of a list, newest first.
 * @param items all items of the list, oldest first
 */
export function pageOf<T extends Item>(
  { cursors }: Merchant["state"],
  list: string,
  items: readonly T[],
  query: Query,
) {
  const from = query.cursor === undefined ? { list, before: items.length } : cursors.get(query.cursor);
  if (from?.list !== list) {
    return refuse([{ path: "cursor", code: "unknown", message: "cursor is not from a page of this list." }]);
  }
  const limit = query.limit ?? 20;
  const matching = [...items.keys()].slice(0, from.before).filter((index) => fits(query)(items[index] as T));
  const page = matching.toReversed().slice(0, limit);
  const last = page.at(-1);
  const data = { items: page.map((index) => items[index] as T) };
  if (last === undefined || matching.length <= limit) return data;
  const nextCursor = randomUUID();
  cursors.set(nextCursor, { list, before: last });
  return { ...data, nextCursor };
}
