// Renders the results as a predicate of type https://in-toto.io/attestation/test-result/v0.1, which a CI system can sign
// to attest that it made this run.
import { suiteSha256 } from "../certificate/hashes.ts";
import type { Report, RunVerdict, Verdict } from "../results.ts";

const results: Record<RunVerdict, "PASSED" | "WARNED" | "FAILED"> = {
  certified: "PASSED",
  "passed-partially": "WARNED",
  failed: "FAILED",
  error: "FAILED",
};

/** Renders test-result.json. A requirement that could not be judged counts as failed. */
export function renderTestResult(report: Report): string {
  const { verdict, requirements, specSha256, suiteVersion, baseUrl, profile, effects, seed, challenge } = report;
  const { headers, rate } = report.conditions;
  const having = (...verdicts: Verdict[]) =>
    requirements.filter((each) => verdicts.includes(each.verdict)).map(({ id }) => id);
  const annotations = { suiteVersion, target: baseUrl, profile, effects, seed, challenge, headers, rate };
  const predicate = {
    result: results[verdict],
    configuration: [
      { name: "contract", digest: { sha256: specSha256 } },
      { name: "suite", digest: { sha256: suiteSha256() }, annotations },
    ],
    passedTests: having("pass"),
    warnedTests: having("warn"),
    failedTests: having("fail", "could-not-run"),
  };
  return `${JSON.stringify(predicate, null, 2)}\n`;
}
