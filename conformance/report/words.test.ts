import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Requirement } from "../results.ts";
import { counted, sourceOf, titleOf } from "./words.ts";

const requirements: Requirement[] = parse(
  await readFile(new URL("../../spec/requirements.yaml", import.meta.url), "utf8"),
);

test.each([...new Set(requirements.map(sourceOf))])("%s has a title", (source) => {
  expect(titleOf(source)).not.toBe("");
});

test.each([
  ["§4.1, §7", "Create a disbursement"],
  ["D7a", "URLs given by merchants"],
  ["§99", ""],
  ["", ""],
])("the title of %j is %j", (source, title) => {
  expect(titleOf(source)).toBe(title);
});

test("counted uses the plural except for one", () => {
  expect([counted(0, "payout"), counted(1, "payout"), counted(2, "payout")]).toEqual([
    "0 payouts",
    "1 payout",
    "2 payouts",
  ]);
});
