import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Requirement } from "../results.ts";
import { sampleReport } from "../testing/sample-report.ts";
import { counted, repeatCommand, sourceOf, titleOf } from "./words.ts";

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

test("repeatCommand quotes for a shell", () => {
  const report = sampleReport([], { baseUrl: "http://127.0.0.1:3000/a b'$(x)", seed: -7 });
  expect(repeatCommand(report, ["auth.a", "auth.b"])).toBe(
    `certify --base-url 'http://127.0.0.1:3000/a b'\\''$(x)' --profile core --effects money --only auth.a,auth.b --seed -7`,
  );
});
