import { createHash } from "node:crypto";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import type { Row } from "../rows.ts";
import type { Executor } from "./query.ts";

/** A place in a list: the values of the columns that order it. The list begins with the greatest values. */
type Place = Readonly<Record<string, string | number>>;

/** A page of a list that is read. */
interface Asked {
  list: string;
  /** To what the list belongs, for example a merchant. */
  scope: string;
  /** The entries of the list are less than this place. */
  start: Place;
  limit: number;
  cursor?: string | undefined;
}

const SECRET = "SELECT customer_secret FROM merchants WHERE id = :merchant";

/** To what the cursors of a merchant's list belong. A reset of the sandbox replaces the secret, so earlier cursors end. */
export async function cursorScope({ read }: Pick<Executor, "read">, merchant: string): Promise<string> {
  const [row] = await read({ text: SECRET, values: { merchant } });
  return `${merchant} ${row?.customer_secret as string}`;
}

/**
 * Makes the cursor of a place. The digest ties it to the list and to `scope`, so that a cursor of another list or merchant
 * is refused instead of silently continuing somewhere else.
 */
function sealed({ list, scope }: Asked, place: string): string {
  const text = JSON.stringify([list, scope, place]);
  return `${place}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

const isLike = (value: unknown, like: unknown) =>
  typeof value === typeof like && (typeof value === "string" || Number.isSafeInteger(value));

/** Returns the place where a page begins: its entries are less. @throws InvalidCursorError */
export function placeOf(asked: Asked): Place {
  const { start, cursor } = asked;
  if (cursor === undefined) return start;
  const [text = ""] = cursor.split(".", 1);
  if (sealed(asked, text) !== cursor) throw new InvalidCursorError();
  const values = JSON.parse(Buffer.from(text, "base64url").toString()) as unknown[];
  const columns = Object.keys(start);
  // After a move to another kind of database, other columns may order the list.
  if (values.length !== columns.length || !columns.every((column, index) => isLike(values[index], start[column])))
    throw new InvalidCursorError();
  const place = Object.fromEntries(columns.map((column, index) => [column, values[index]])) as Place;
  return place[columns[0]!]! < start[columns[0]!]! ? place : start;
}

/**
 * Makes a page of a list.
 * @param found the rows, of which one more than the limit was read to see whether another page follows
 * @param reached the last row that a search has read, if it ended early
 */
export function toPage<T>(asked: Asked, found: readonly Row[], toItem: (row: Row) => T, reached?: Row): Page<T> {
  const rows = found.slice(0, asked.limit);
  const isFull = found.length > asked.limit;
  const last = isFull ? rows.at(-1) : reached;
  const place = JSON.stringify(Object.keys(asked.start).map((column) => last?.[column]));
  return {
    items: rows.map(toItem),
    ...(last && { cursor: sealed(asked, Buffer.from(place).toString("base64url")) }),
    ...(!isFull && reached && { searchedTo: reached.created_at as number }),
  };
}
