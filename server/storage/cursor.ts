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

/** The lengths of the hexadecimal parts of a UUID that each fit into a number of a cursor. */
const PARTS = [12, 12, 8] as const;

/** Splits a UUID into whole numbers. */
export function fromUuid(uuid: string): number[] {
  let rest = uuid.replaceAll("-", "");
  return PARTS.map((length) => {
    const part = rest.slice(0, length);
    rest = rest.slice(length);
    return Number.parseInt(part, 16);
  });
}

/** Returns the UUID of these numbers; a missing number is 0. */
export function toUuid(numbers: readonly number[]): string {
  const digits = PARTS.map((length, index) => (numbers[index] ?? 0).toString(16).padStart(length, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
