import { expect, test } from "vitest";
import { sampleReport, requirement } from "../testing/sample-report.ts";
import { leavesOf, observationsOf } from "./observed.ts";

test.each([
  ["a plain value", 400, [{ path: "", value: "400" }]],
  ["null", null, [{ path: "", value: "null" }]],
  ["a list", ["a", { b: 1 }], [{ path: "", value: '["a",{"b":1}]' }]],
  ["an empty object", {}, [{ path: "", value: "{}" }]],
  [
    "an object in an object",
    { data: { url: "string", fee: 1 }, none: {} },
    [
      { path: "data → url", value: '"string"' },
      { path: "data → fee", value: "1" },
      { path: "none", value: "{}" },
    ],
  ],
])("%s is taken apart", (_what, value, leaves) => {
  expect(leavesOf(value)).toEqual(leaves);
});

test("adds the text of the requirement to an observation", () => {
  const observed = [{ requirement: "split", name: "missing amount", value: 400 }];
  const report = sampleReport([requirement("split", "observed", { text: "How 400 and 422 are divided." })], {
    observed,
  });
  expect(observationsOf(report)).toMatchObject([{ name: "missing amount", text: "How 400 and 422 are divided." }]);
});
