// Certifies an independent implementation of the contract. This proves that the suite judges the contract and not the
// reference server. Broken versions of the server cannot prove this.
import { describe, expect, test } from "vitest";
import { trySecond } from "./trial.ts";

describe("the second implementation", () => {
  // Extended includes core. Its record ids are random UUIDs, because the OpenAPI document leaves their form open.
  test("is certified for extended", async () => {
    const warnings = ["references.record-ids"];
    expect(await trySecond("extended")).toEqual({ verdict: "certified", alarms: [], warnings });
  });
});
