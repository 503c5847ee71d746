import { expect, test } from "vitest";
import type { Report } from "../results.ts";
import { hostileReport, sampleReport, requirement } from "../testing/sample-report.ts";
import { compareReports } from "./diff.ts";

const a = sampleReport([requirement("create.echo", "pass"), requirement("webhook.failed", "pass")], {
  observed: [
    { requirement: "split", name: "missing amount", value: 400 },
    { requirement: "signing", name: "headers", value: { id: "webhook-id", names: ["a", "b"] } },
  ],
});

test("runs that differ only in times and order have no differences", () => {
  const again = { ...a, requirements: a.requirements.toReversed(), startedAt: "2027-01-01T00:00:00.000Z" };
  const { differences, text } = compareReports(a, { ...again, observed: a.observed.toReversed() });
  expect([differences, text]).toEqual([0, expect.stringMatching(/\n\nNo differences; 5 verdicts and observations/)]);
});

test("names both targets, and the values of each where they differ", () => {
  const b = sampleReport([requirement("create.echo", "fail"), requirement("new.one", "pass")], {
    baseUrl: "https://live.example",
    suiteVersion: "2.0.0",
    observed: [
      { requirement: "split", name: "missing amount", value: 422 },
      { requirement: "signing", name: "headers", value: { id: "webhook-id" } },
    ],
  });
  expect(compareReports(a, b)).toEqual({
    differences: 5,
    text: `A  https://sandbox.example
B  https://live.example
!  The suite versions differ: 1.0.0 and 2.0.0.

Verdicts that differ
  create.echo
    A  Passed
    B  Failed
  webhook.failed
    A  Passed
    B  not in this run
  new.one
    A  not in this run
    B  Passed

Differences where the interface leaves the behaviour open
  split: missing amount
    A  400
    B  422
  signing: headers, names
    A  ["a","b"]
    B  not observed

5 differences; 6 verdicts and observations compared.
`,
  });
  expect(compareReports(a, hostileReport).text.replaceAll("\n", "")).not.toMatch(/\p{Control}|\p{Surrogate}|\u202e/u);
});

const leftOut = (id: string, code: "effects" | "only") =>
  requirement(id, "not-applicable", { reason: { code, text: "left out" } });
const core = sampleReport([requirement("create.echo", "pass"), leftOut("create.accepted", "effects")]);
const extended = sampleReport(
  ["create.echo", "create.accepted", "forced.001-success", "fees.shown"].map((id) => requirement(id, "pass")),
  { profile: "extended", observed: [{ requirement: "fees.shown", name: "fee", value: 3 }] },
);
const chosen = sampleReport([requirement("create.echo", "pass"), leftOut("webhook.failed", "only")], { only: ["a"] });

test.each<[string, Report, string]>([
  ["profile", extended, "Not compared: 3 requirements that only one of the two runs"],
  ["selection", chosen, "The selections (--only) differ: everything and a."],
])("what a run with another %s did not judge is no difference", (_what, other, note) => {
  expect(compareReports(core, other)).toEqual({ differences: 0, text: expect.stringContaining(`\n!  ${note}`) });
});
