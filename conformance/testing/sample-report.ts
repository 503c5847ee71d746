// Provides sample results for the tests of everything that renders a report.
import type { CheckResult, Exchange, Report, RequirementResult, RunVerdict, Verdict } from "../results.ts";

/**
 * A text that no renderer may pass on unchanged. It contains markup, an entity, the end of a CDATA section, terminal
 * escape sequences, a right-to-left override, NUL, a lone surrogate and a noncharacter.
 */
export const hostile =
  `</pre></textarea><script>alert("x")</script><img src=x onerror='alert(1)'>&amp;]]>` +
  "\u001b[2J\u001b]8;;http://evil.example\u0007\u009b31m\u202eabc\u0000\ud800\ufffe";

export function exchange(over: Partial<Exchange> = {}): Exchange {
  return {
    id: 1,
    at: "2026-11-20T10:00:01.000Z",
    method: "POST",
    url: "https://sandbox.example/v1/disbursements",
    requestHeaders: { "content-type": "application/json", "x-api-key": "[redacted]" },
    requestBody: `{"reference":"R-1","amount":10000,"phoneNumber":"**********473","country":"CI","currency":"XOF"}`,
    status: 200,
    responseHeaders: { "content-type": "application/json" },
    responseBody: `{"statusCode":200,"data":{"reference":"DSB1","status":"pending"}}`,
    durationMs: 12,
    curl: `curl -sS -X POST 'https://sandbox.example/v1/disbursements' -H "x-api-key: $API_KEY" -d '{"reference":"R-1"}'`,
    ...over,
  };
}

export function check(over: Partial<CheckResult> = {}): CheckResult {
  return {
    name: "one after the other",
    verdict: "pass",
    expected: "HTTP 409",
    actual: "HTTP 409",
    exchanges: [],
    durationMs: 20,
    ...over,
  };
}

/**
 * Returns a requirement with one check of the same verdict, or without a check if it was not judged. `over` replaces
 * fields.
 */
export function requirement(id: string, verdict: Verdict, over: Partial<RequirementResult> = {}): RequirementResult {
  const judged = verdict !== "not-applicable";
  return {
    id,
    section: "§4.1",
    level: verdict === "observed" ? "observe" : "must",
    profile: "core",
    effect: "moves-money",
    text: `What ${id} promises.`,
    verdict,
    ...(judged ? {} : { reason: { code: "target", text: "The target has no payment page to finish." } }),
    checks: judged ? [check({ verdict, actual: verdict === "fail" ? "HTTP 200" : "HTTP 409" })] : [],
    ...over,
  };
}

function countsOf(requirements: readonly RequirementResult[]): Report["counts"] {
  const counts = { pass: 0, fail: 0, warn: 0, observed: 0, "not-applicable": 0, "could-not-run": 0 };
  for (const { verdict } of requirements) counts[verdict] += 1;
  return counts;
}

function verdictFor(counts: Report["counts"]): RunVerdict {
  if (counts.fail > 0) return "failed";
  return counts["could-not-run"] > 0 ? "error" : "certified";
}

/** Returns a report whose counts and verdict follow from `requirements`. `over` replaces fields. */
export function sampleReport(requirements: RequirementResult[], over: Partial<Report> = {}): Report {
  const counts = countsOf(requirements);
  return {
    verdict: verdictFor(counts),
    notProvided: [],
    summary: `${counts.pass} of ${requirements.length} requirements passed.`,
    profile: "core",
    effects: "money",
    baseUrl: "https://sandbox.example",
    specSha256: "ab".repeat(32),
    suiteVersion: "1.0.0",
    exchangesSha256: "cd".repeat(32),
    startedAt: "2026-11-20T10:00:00.000Z",
    finishedAt: "2026-11-20T10:00:18.500Z",
    counts,
    requirements,
    created: [],
    observed: [],
    budget: { payouts: 3, maxPayouts: 500, total: 30_000, maxTotal: 50_000_000, largestAmount: 10_000 },
    conditions: {
      headers: [],
      rate: null,
      waits: { responseMs: 10_000, settleMs: 90_000, lingerMs: 0 },
      sandbox: { environment: "sandbox", missing: [] },
      untriedAmounts: 0,
      events: null,
    },
    seed: 42,
    errors: [],
    ...over,
  };
}
