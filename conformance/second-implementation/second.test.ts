// Certifies an independent implementation of the contract. This proves that the suite judges the contract and not the
// reference server. Broken versions of the server cannot prove this.
import { expect, test } from "vitest";
import { trySecond } from "./trial.ts";

test("the second implementation is certified for core", async () => {
  expect(await trySecond("core")).toMatchObject({ verdict: "certified", alarms: [] });
});
