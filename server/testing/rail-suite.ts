import { afterAll, beforeAll, describe, test } from "vitest";
import { railSuite as suite, type RailSuite } from "../rails/suite/suite.ts";

/** The tests that every rail must pass, run by Vitest. */
export const railSuite = (name: string, options: RailSuite): void =>
  suite(name, options, { describe, test, before: beforeAll, after: afterAll });
