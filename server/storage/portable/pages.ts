import { createHash } from "node:crypto";
import { InvalidCursorError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import type { Row } from "../rows.ts";

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

/**
 * Makes the cursor of a place. The digest ties it to the list, to `scope` and to the columns, so that a cursor of another
 * list or merchant, or of a list that another kind of database orders otherwise, is refused instead of silently
 * continuing somewhere else.
 */
function sealed({ list, scope, start }: Asked, place: string): string {
  const text = JSON.stringify([list, scope, Object.keys(start), place]);
  return `${place}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

const isLike = (value: unknown, like: unknown) =>
  typeof value === typeof like && (typeof value === "string" || Number.isSafeInteger(value));

/** Returns the place where a page begins: its entries are less. Anybody can make a cursor. @throws InvalidCursorError */
export function placeOf(asked: Asked): Place {
  const { start, cursor } = asked;
  if (cursor === undefined) return start;
  const [text = ""] = cursor.split(".", 1);
  if (sealed(asked, text) !== cursor) throw new InvalidCursorError();
  let given: Place;
  try {
    given = Object(JSON.parse(Buffer.from(text, "base64url").toString())) as Place;
  } catch {
    throw new InvalidCursorError();
  }
  const columns = Object.keys(start);
  if (!columns.every((column) => isLike(given[column], start[column]))) throw new InvalidCursorError();
  const place = Object.fromEntries(columns.map((column) => [column, given[column]!]));
  const first = columns[0]!;
  return place[first]! < start[first]! ? place : start;
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
  const place = JSON.stringify(last, Object.keys(asked.start));
  return {
    items: rows.map(toItem),
    ...(last && { cursor: sealed(asked, Buffer.from(place).toString("base64url")) }),
    ...(!isFull && reached && { searchedTo: reached.created_at as number }),
  };
}
