import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPrivateKey, readPublicKey, writeKeyPair } from "../certificate/keys.ts";
import { verifyCertificate } from "../certificate/verify.ts";
import { check, exchange, hostile, requirement, sampleReport } from "../testing/sample-report.ts";
import { makeFolder, renderReports, writeReports } from "./reporting.ts";

const now = new Date("2026-11-20T12:00:00Z");
let folder: string;
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
  writeKeyPair(at("key"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const signing = () => {
  const reporting = { folder: at("report"), baseline: [], signing: { key: readPrivateKey(at("key")), validDays: 90 } };
  makeFolder(reporting);
  return reporting;
};

test("writes every file, and a certificate that verifies against the written report.json", async () => {
  const report = sampleReport([requirement("create.echo", "pass")]);
  const { files, exitCode, refusal } = await writeReports(report, signing(), now);
  expect({ exitCode, refusal }).toEqual({ exitCode: 0, refusal: undefined });
  expect(files).toEqual(
    ["report.html", "report.json", "junit.xml", "summary.md", "certificate.jws"].map((name) => at(`report/${name}`)),
  );
  const jws = readFileSync(at("report/certificate.jws"), "utf8").trim();
  const reportJson = readFileSync(at("report/report.json"));
  const verification = await verifyCertificate({ jws, key: readPublicKey(at("key.pub")), now, reportJson });
  expect(verification).toMatchObject({ valid: true, certificate: { exp: now.getTime() / 1000 + 90 * 86_400 } });
});

test.each([
  ["passed in part", sampleReport([], { verdict: "passed-partially" }), 1],
  ["failed", sampleReport([requirement("create.echo", "fail")]), 1],
  ["was not completed", sampleReport([], { verdict: "error" }), 2],
] as const)("a run that %s leaves no certificate, not even an earlier one", async (_what, report, exitCode) => {
  const reporting = signing();
  writeFileSync(at("report/certificate.jws"), "of an earlier run");
  const finished = await writeReports(report, reporting, now);
  expect(finished).toMatchObject({ exitCode, refusal: expect.stringMatching(/^No certificate: the verdict is/) });
  expect(readdirSync(at("report")).toSorted()).toEqual(["junit.xml", "report.html", "report.json", "summary.md"]);
});

test("tolerates a known failure in every file", async () => {
  const known = [{ id: "create.echo", reason: "Repaired in 4.2", expires: "2026-12-31" }];
  const { report, json } = renderReports(sampleReport([requirement("create.echo", "fail")]), known, now);
  expect(report.verdict).toBe("passed-partially");
  expect(JSON.parse(json)).toMatchObject({ requirements: [{ knownFailure: { reason: "Repaired in 4.2" } }] });
});

test("refuses a folder that cannot be created", () => {
  expect(() => makeFolder({ folder: at("key/report"), baseline: [] })).toThrow("ENOTDIR");
});

test("keeps the exchange that shows a failure, and a part of the others", () => {
  const exchanges = Array.from({ length: 30 }, (_, id) => exchange({ id, responseBody: "x".repeat(4000) }));
  const checks = [check({ verdict: "fail", exchanges, shownBy: 20, contradictedBy: 25 })];
  const { report } = renderReports(sampleReport([requirement("a", "fail", { checks })]), [], now);
  const [kept] = report.requirements[0]!.checks;
  expect(kept?.exchanges.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 20, 25]);
  expect(kept?.exchangesLeftOut).toBe(20);
  expect(kept?.exchanges[0]?.responseBody).toHaveLength(2001);
});

test("report.json has what the other files derive, beside the results", () => {
  const failed = requirement("a", "fail", {
    checks: [check({ verdict: "fail", exchanges: [exchange({ status: 301, curl: "curl it" })], shownBy: 1 })],
  });
  const { json } = renderReports(sampleReport([failed, requirement("b", "not-applicable")]), [], now);
  expect(JSON.parse(json)).toMatchObject({
    counts: { fail: 1, "not-applicable": 1 },
    levels: { must: { total: 2, passed: 0, failed: 1, notApplicable: 1, notJudged: 0 } },
    causes: [{ requirements: ["a"], title: expect.stringContaining("redirects") }],
    requirements: [{ checks: [{ repeat: "curl it" }] }, {}],
  });
});

test("summary.md has a badge, the causes and how to repeat them, and no markup of the target's", () => {
  const checks = [check({ verdict: "fail", actual: hostile, exchanges: [exchange({ status: 500 })], shownBy: 1 })];
  const report = sampleReport([requirement("a.b", "fail", { checks })], { baseUrl: hostile });
  const text = renderReports(report, [], now).contents["summary.md"]!;
  expect(text.split("\n")[0]).toBe(
    "![conformance: core: failed, 0 of 1 musts](https://img.shields.io/badge/conformance-core%3A%20failed%2C%200%20of%201%20musts-red)",
  );
  expect(text).toContain("| `a.b` | §4.1 |");
  expect(text).toContain("--only a.b --seed 42");
  const shown = text.replace(/```sh\n[^]*?\n```/, "");
  expect(shown).not.toMatch(/(?<!\\)<script|(?<!\\)&amp;|\p{Cc}(?<!\n)/u);
});
