import { createHash } from "node:crypto";
import { InvalidCursorError } from "../domain/errors.ts";

/**
 * Makes the cursor of a position in a list. The digest ties it to the list and to `scope`, for example the merchant, so
 * that a cursor of another list or merchant is refused instead of silently continuing somewhere else.
 * @param position whole numbers of at least 0
 */
export function sealCursor(list: string, scope: string, position: readonly number[]): string {
  const text = position.map((number) => number.toString(36)).join(".");
  const digest = createHash("sha256")
    .update(JSON.stringify([list, scope, text]))
    .digest("hex");
  return `${text}-${digest.slice(0, 16)}`;
}

/**
 * Returns the position of a cursor that `sealCursor` made for the same list and scope.
 * @param length the number of numbers in a position; a cursor from before a move to another kind of database may have
 * another number of numbers
 * @throws InvalidCursorError for any other text
 */
export function openCursor(list: string, scope: string, cursor: string, length: number): number[] {
  const [text = ""] = cursor.split("-", 1);
  const position = text.split(".").map((part) => Number.parseInt(part, 36));
  const isPosition = position.every((number) => Number.isSafeInteger(number) && number >= 0);
  if (!isPosition || position.length !== length || sealCursor(list, scope, position) !== cursor)
    throw new InvalidCursorError();
  return position;
}

/** Splits a UUID into whole numbers. */
export function fromUuid(uuid: string): number[] {
  const digits = uuid.replaceAll("-", "");
  return [digits.slice(0, 12), digits.slice(12, 24), digits.slice(24)].map((part) => Number.parseInt(part, 16));
}

const hex = (number: number, length: number) => number.toString(16).padStart(length, "0");

/** Returns the UUID of these numbers; a missing number is 0. */
export const toUuid = ([first = 0, second = 0, third = 0]: readonly number[]): string =>
  hex(first, 12) + hex(second, 12) + hex(third, 8);
