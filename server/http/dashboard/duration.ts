import { DAY_MS } from "../../domain/time.ts";
import type { English, Words } from "./words.ts";

const UNITS = [
  [DAY_MS, "{count} day", "{count} days"],
  [3_600_000, "{count} hour", "{count} hours"],
  [60_000, "{count} minute", "{count} minutes"],
  [1_000, "{count} second", "{count} seconds"],
] as const satisfies (readonly [number, English, English])[];

/** A duration of at least a second in whole units of the largest that fits, for people: `6 days`. */
export function durationIn({ plural }: Words, milliseconds: number): string {
  const [size, one, other] = UNITS.find(([each]) => milliseconds >= each)!;
  return plural(Math.floor(milliseconds / size), one, other);
}
