import type { Storage } from "../../domain/storage.ts";
import type { FakeClock } from "../clock.ts";

/** The storage and the clock of the current test. */
export interface Current {
  (): Storage;
  clock(): FakeClock;
}
