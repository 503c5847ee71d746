import type { Storage } from "../../domain/storage.ts";
import type { FakeClock } from "../clock.ts";

/** The storage of the test that is running, and its clock. */
export interface Current {
  (): Storage;
  clock(): FakeClock;
}
