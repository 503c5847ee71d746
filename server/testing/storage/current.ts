import type { Storage } from "../../domain/storage.ts";
import type { FakeClock } from "../clock.ts";

/** What the storage has reported: a `TelemetryEvent` and its name. */
export type Report = { name: string } & object;

/** The storage and the clock of the current test. */
export interface Current {
  (): Storage;
  clock(): FakeClock;
  /** Everything that the storage has reported so far. */
  reported(): Report[];
}
