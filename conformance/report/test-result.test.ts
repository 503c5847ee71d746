import { expect, test } from "vitest";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { renderTestResult } from "./test-result.ts";

const rendered = (...args: Parameters<typeof sampleReport>) => JSON.parse(renderTestResult(sampleReport(...args)));

test("lists the requirements by result, and what was judged with what", () => {
  const results = [
    requirement("a", "pass"),
    requirement("b", "warn", { level: "should" }),
    requirement("c", "observed"),
    requirement("d", "not-applicable"),
  ];
  expect(rendered(results, { challenge: "a nonce" })).toEqual({
    result: "PASSED",
    configuration: [
      { name: "contract", digest: { sha256: "ab".repeat(32) } },
      {
        name: "suite",
        digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        annotations: {
          suiteVersion: "1.0.0",
          target: "https://sandbox.example",
          profile: "core",
          effects: "money",
          seed: 42,
          challenge: "a nonce",
          headers: [],
          rate: null,
        },
      },
    ],
    passedTests: ["a"],
    warnedTests: ["b"],
    failedTests: [],
  });
});

test.each([
  ["failed", [requirement("a", "fail"), requirement("b", "could-not-run")], {}, "FAILED"],
  ["could not judge everything", [requirement("a", "could-not-run")], {}, "FAILED"],
  ["judged a part", [], { verdict: "passed-partially" }, "WARNED"],
] as const)("a run that %s did not pass", (_what, results, over, result) => {
  const predicate = rendered([...results], over);
  expect([predicate.result, predicate.failedTests]).toEqual([result, results.map(({ id }) => id)]);
});
