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
  return PARTS.map((length, index) => (numbers[index] ?? 0).toString(16).padStart(length, "0")).join("");
}
