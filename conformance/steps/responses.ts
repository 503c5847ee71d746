// Reads responses.
import { given } from "../check.ts";
import { dataOf, type TargetResponse } from "../target/exchange.ts";

export const is4xx = ({ status }: TargetResponse) => status !== undefined && status >= 400 && status < 500;

export const isRefusal = ({ status }: TargetResponse) => status === 400 || status === 422;

/** Returns true if the response is a page of a list, which may be empty. */
export const isPage = (response: TargetResponse) => response.status === 200 && Array.isArray(dataOf(response)["items"]);

/** Returns the items of a page; an empty array if the response contains no list. */
export const listed = (response: TargetResponse): Record<string, unknown>[] =>
  isPage(response) ? (dataOf(response)["items"] as Record<string, unknown>[]) : [];

/** Returns the cursor of the next page, for a query. Throws `Prerequisite` if the page has no cursor. */
export function cursorOf(page: TargetResponse): string {
  const { nextCursor } = dataOf(page);
  given(typeof nextCursor === "string", "a page with nextCursor", page);
  return encodeURIComponent(nextCursor);
}

/** Returns every string, number, boolean and null in a JSON value, each with the name of its field. */
export function leavesOf(value: unknown, name = ""): [name: string, leaf: unknown][] {
  if (typeof value !== "object" || value === null) return [[name, value]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, key));
}

/** Returns every string in a JSON value with the name of its field. */
export const textsIn = (value: unknown) =>
  leavesOf(value).filter((leaf): leaf is [name: string, text: string] => typeof leaf[1] === "string");
