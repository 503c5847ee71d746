import { expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { check, exchange, requirement, sampleReport } from "../testing/sample-report.ts";
import { compact } from "./compact.ts";
import { renderHtml } from "./html.ts";
import { renderJson } from "./json.ts";

const render = (report: Parameters<typeof renderJson>[0]): [string, string] => [renderHtml(report), renderJson(report)];

/** Returns a report in which every requirement fails in three checks with 20 exchanges each, all with long bodies. */
function everythingFails() {
  let ids = 0;
  const evidence = () =>
    Array.from({ length: 20 }, () => exchange({ id: (ids += 1), status: 500, responseBody: "<p>Oops &".repeat(450) }));
  const checks = () =>
    ["a", "b", "c"].map((name) => {
      const exchanges = evidence();
      return check({ name, verdict: "fail", exchanges, shownBy: exchanges[0]!.id });
    });
  return sampleReport(catalogue.map(({ id }) => requirement(id, "fail", { checks: checks() })));
}

test("report.json and report.html stay below 1 MB for a target that fails everything", () => {
  const { report, files } = compact(everythingFails(), render);
  for (const file of files) expect(Buffer.byteLength(file)).toBeLessThan(1_000_000);
  const [first] = report.requirements[0]!.checks;
  expect(first?.exchanges[0]?.id).toBe(first?.shownBy);
  expect(first?.exchangesLeftOut).toBeGreaterThan(0);
});

const inScenario = (name: string) =>
  check({
    name,
    verdict: "fail",
    exchanges: [exchange({ id: 7, responseBody: name })],
    selectFlags: ["--scenario", name],
  });

test("keeps apart the requests of two scenarios that have the same number", () => {
  const requirements = ["a", "b"].map((id) =>
    requirement(id, "fail", { checks: [inScenario("lost"), inScenario("late")] }),
  );
  const { report } = compact(sampleReport(requirements), render);
  const shown = report.requirements.map(({ checks }) => checks.map(({ exchanges }) => exchanges[0]));
  expect(shown).toMatchObject([
    [{ responseBody: "lost" }, { responseBody: "late" }],
    [{ fullAt: "a" }, { fullAt: "a" }],
  ]);
});

test("records an exchange in full once, and refers to it elsewhere", () => {
  const shared = exchange({ id: 7, responseBody: "the body" });
  const one = requirement("a", "fail", { checks: [check({ verdict: "fail", exchanges: [shared], shownBy: 7 })] });
  const { report, files } = compact(sampleReport([one, { ...one, id: "b" }]), render);
  const [a, b] = report.requirements.map(({ checks }) => checks[0]?.exchanges[0]);
  expect(a).toEqual(shared);
  expect(b).toMatchObject({ id: 7, fullAt: "a", method: "POST", status: 200, curl: shared.curl });
  expect(JSON.stringify(b)).not.toContain("the body");
  for (const file of files) expect(file.match(/the body/g)).toHaveLength(1);
});

test("keeps everything if it fits", () => {
  const exchanges = Array.from({ length: 20 }, (_, id) => exchange({ id, responseBody: "x".repeat(4000) }));
  const report = sampleReport([requirement("a", "pass", { checks: [check({ exchanges })] })]);
  expect(compact(report, render).report).toEqual(report);
});

test("report.json has what the other files derive, beside the results", () => {
  const failed = requirement("a", "fail", {
    checks: [check({ verdict: "fail", exchanges: [exchange({ status: 301, curl: "curl it" })], shownBy: 1 })],
  });
  const json = JSON.parse(renderJson(sampleReport([failed, requirement("b", "not-applicable")]))) as object;
  expect(json).toMatchObject({
    counts: { fail: 1, "not-applicable": 1 },
    levels: { must: { total: 2, passed: 0, failed: 1, notApplicable: 1, notJudged: 0 } },
    causes: [{ requirements: ["a"] }],
    requirements: [{ checks: [{ repeat: "curl it", likelyCause: expect.stringContaining("redirects") }] }, {}],
  });
});
