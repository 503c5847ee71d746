import { expect, test } from "vitest";
import { trySound } from "./catch.ts";

test("the reference server is certified for extended, in one run of the whole suite", async () => {
  const { verdict, alarms } = await trySound({ how: () => ({}) }, "extended");
  expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
});
