// The model shares no code with the reference server, so certifying it shows that the suite judges the contract.
import { expect, test } from "vitest";
import { tryModel } from "./trial.ts";

test("the model is certified for core", async () => {
  expect(await tryModel("core")).toEqual({ verdict: "certified", alarms: [], warnings: [] });
});
