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
    observed: [
      { requirement: "split", name: "missing amount", value: 422 },
      { requirement: "signing", name: "headers", value: { id: "webhook-id" } },
    ],
  });
  expect(compareReports(a, b)).toEqual({
    differences: 5,
    text: `A  https://sandbox.example
B  https://live.example

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
});

const left = (id: string, code: "effects" | "only") =>
  requirement(id, "not-applicable", { reason: { code, text: "left out" } });
const core = sampleReport([requirement("create.echo", "pass"), left("create.accepted", "effects")], {
  effects: "reject",
});
const extended = sampleReport(
  [
    requirement("create.echo", "fail"),
    requirement("create.accepted", "pass"),
    requirement("forced.001-success", "pass"),
    requirement("fees.shown", "observed"),
  ],
  { profile: "extended", observed: [{ requirement: "fees.shown", name: "fee", value: 3 }] },
);
const chosen = sampleReport([requirement("create.echo", "pass"), left("webhook.failed", "only")], {
  observed: a.observed,
  only: ["create.echo"],
});

test.each<[string, Report, Report, number, string]>([
  ["profiles", core, extended, 1, "The profiles differ: core and extended."],
  [
    "requirements that only one run judged",
    core,
    extended,
    1,
    "Not compared: 3 requirements that only one of the two runs",
  ],
  ["selections", a, chosen, 0, "The selections (--only) differ: everything and create.echo."],
  ["contracts", a, { ...a, specSha256: "0" }, 0, "The contracts differ"],
  ["versions of the suite", a, { ...a, suiteVersion: "2.0.0" }, 0, "The suite versions differ: 1.0.0 and 2.0.0"],
])("other %s are noted first, and are no difference by themselves", (_what, one, other, differences, note) => {
  const comparison = compareReports(one, other);
  expect(comparison.differences).toBe(differences);
  expect(comparison.text).toContain(`\n!  ${note}`);
  expect(comparison.text).not.toContain("not in this run");
});

test("escapes control sequences in a report", () => {
  expect(compareReports(a, hostileReport).text.replaceAll("\n", "")).not.toMatch(
    /[\p{Control}\p{Surrogate}\u202a-\u202e]/u,
  );
});
