import type { Page } from "../../domain/pages.ts";
import type { Row } from "../rows.ts";
import type { Executor } from "./query.ts";

const SECRET = "SELECT customer_secret FROM merchants WHERE id = :merchant";

/** To what the cursors of a merchant's list belong. A reset of the sandbox replaces the secret, so earlier cursors end. */
export async function cursorScope({ read }: Pick<Executor, "read">, merchant: string): Promise<string> {
  const [row] = await read({ text: SECRET, values: { merchant } });
  return `${merchant} ${row?.customer_secret as string}`;
}

/**
 * Makes a page of a list.
 * @param found the rows, of which one more than `limit` was read to see whether another page follows
 * @param cursorAfter returns the cursor of the page after this row
 */
export function toPage<T>(
  found: readonly Row[],
  limit: number,
  toItem: (row: Row) => T,
  cursorAfter: (last: Row) => string,
): Page<T> {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { items: rows.map(toItem), ...(last && { cursor: cursorAfter(last) }) };
}
