// Provides sample results for the tests of everything that renders a report.
import { sideConditions } from "../run/tree.ts";
import {
  countsOf,
  type CheckResult,
  type Exchange,
  type Report,
  type RequirementResult,
  type RunVerdict,
  type Verdict,
  type Watched,
} from "../results.ts";

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
      ...sideConditions({ responseMs: 10_000, settleMs: 90_000, lingerMs: 0 }),
      sandbox: { environment: "sandbox", missing: [] },
    },
    seed: 42,
    errors: [],
    ...over,
  };
}

/** A check that failed, and the exchanges that show it. */
export const failedCheck = (over: Partial<CheckResult> = {}, ...exchanges: Partial<Exchange>[]) =>
  check({ verdict: "fail", exchanges: exchanges.map((each) => exchange(each)), ...over });
const doubled = requirement("create.repeated", "fail", {
  text: "A duplicate reference is refused.",
  matters: "The recipient is paid twice.",
  fix: "Put a unique constraint on the reference.",
  checks: [
    check({ name: "one after the other" }),
    failedCheck(
      {
        name: "8 at once",
        expected: "one HTTP 200",
        actual: "three HTTP 200:\nDSB1, DSB2",
        shownBy: 4,
        contradictedBy: 3,
      },
      { id: 2, status: undefined, failure: "the connection was closed", curl: "curl lost" },
      { id: 3, curl: "curl first" },
      { id: 4, curl: "curl last" },
    ),
  ],
});
export const outage = failedCheck(
  { shownBy: 5 },
  { id: 5, status: 500, responseBody: '{"error":"Internal Server Error"}' },
);
const notJudged = (id: string, code: "target" | "caller", text: string) =>
  requirement(id, "not-applicable", { reason: { code, text } });
const paid = { kind: "disbursement", at: "2026-11-20T10:00:00.000Z", amount: 10_000, currency: "XOF" } as const;

/** A report with every kind of content. */
export const busyReport = sampleReport(
  [
    requirement("auth.key", "pass"),
    doubled,
    ...["create.a", "create.b", "create.c"].map((id) => requirement(id, "fail", { checks: [outage] })),
    requirement("create.observed", "observed"),
    ...["late.a", "late.b", "late.c", "late.d"].map((id) => notJudged(id, "target", "It has no clock.")),
    notJudged("keys.apart", "caller", "API_KEY_2 is not set."),
    requirement("webhook.sent", "could-not-run", { checks: [], reason: { code: "stopped", text: "Out of budget." } }),
  ],
  {
    errors: ["connect ECONNREFUSED"],
    falseDeclaration: "--declare: largestAmount",
    foundLimits: { longestReference: 30 },
    notProvided: [{ what: "a second key", provide: "API_KEY_2=KEY", requirements: ["keys.apart"] }],
    created: [{ ...paid, unintended: true }, paid, { ...paid, currency: "GHS" }],
    dredd: { transactions: 12, failed: ["GET /a → 200"] },
    secondOpinion: { answers: 9, disagreements: [{ exchange: exchange(), suite: [], prism: ["type"] }] },
  },
);

/** The traffic of a watch. */
export const traffic: Watched = {
  source: "https://pay.example",
  from: "2026-11-29T10:00:00.000Z",
  until: "2026-11-29T13:02:00.000Z",
  exchanges: 12_431,
  webhooks: 310,
  merchants: 2,
  missed: { "a body is cut": 12 },
  forgotten: {},
  declared: { visibleAfterMs: 5000 },
};

/** Fields whose values the suite chooses. */
const chosen = /^(id|verdict|level|profile|effects?|code|kind|startedAt|finishedAt)$/;
/** Fields whose keys may come from the target, too. */
const named = new Set(["requestHeaders", "responseHeaders"]);
/** A run in which each text that may come from the target is hostile. */
export const hostileReport: Report = {
  ...(JSON.parse(JSON.stringify(busyReport), (key, value: unknown) => {
    if (named.has(key)) return { [hostile]: hostile };
    return typeof value === "string" && !chosen.test(key) ? hostile : value;
  }) as Report),
  only: [hostile],
  observed: [{ requirement: hostile, name: hostile, value: { [hostile]: hostile } }],
};
