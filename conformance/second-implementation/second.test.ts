// An independent implementation of the contract proves what the broken versions of the reference server cannot: that
// the suite judges the contract, not the reference server.
import { describe, expect, test } from "vitest";
import { trySecond } from "./trial.ts";

const timeout = 180_000;

describe.concurrent("the second implementation", { timeout }, () => {
  test("is certified for core", async () => {
    expect(await trySecond("core")).toEqual({ verdict: "certified", alarms: [], warnings: [] });
  });

  // Its record ids are random UUIDs, because the OpenAPI document leaves their form open.
  test("is certified for extended", async () => {
    const warnings = ["references.record-ids"];
    expect(await trySecond("extended")).toEqual({ verdict: "certified", alarms: [], warnings });
  });
});
