// Tests what the forms of a report say: terminal, junit.xml, summary.md, report.json and report.html. How report.html
// behaves in a browser is tested in html.full.test.ts.
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { expect, test, vi } from "vitest";
import { exitCodeOf, type CheckResult, type Exchange, type Report } from "../results.ts";
import { renderReports } from "../cli/reporting.ts";
import { raceCommand } from "../target/recorder.ts";
import { check, exchange, hostile, requirement, sampleReport } from "../testing/sample-report.ts";
import { renderJunit } from "./junit.ts";
import { complain, print } from "./print.ts";
import { renderTerminal } from "./terminal.ts";

const now = new Date("2026-11-20T12:00:00Z");
const formsOf = (report: Report): Record<string, string> => ({
  terminal: renderTerminal(report, { color: false }),
  ...renderReports(report, [], now).contents,
});

/** A check that failed, and the exchanges that show it. */
const failedCheck = (over: Partial<CheckResult> = {}, ...exchanges: Partial<Exchange>[]) =>
  check({ verdict: "fail", exchanges: exchanges.map((each) => exchange(each)), ...over });
const doubled = requirement("create.repeated", "fail", {
  text: "A duplicate reference is refused.",
  matters: "The recipient is paid twice.",
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
      { id: 3, curl: "curl first" },
      { id: 4, curl: "curl last" },
    ),
  ],
});
const outage = failedCheck({ shownBy: 5 }, { id: 5, status: 500, responseBody: '{"error":"Internal Server Error"}' });
const allFail = (count: number) =>
  sampleReport(
    Array.from({ length: count }, (_, index) => requirement(`create.${index}`, "fail", { checks: [outage] })),
  );
const notApplicable = (id: string) => requirement(id, "not-applicable");
const left = (id: string, code: "caller" | "effects" | "stopped") =>
  requirement(id, "not-applicable", { reason: { code, text: "left out" } });
const paid = (amount: number, currency: string) => ({
  kind: "disbursement" as const,
  at: "2026-11-20T10:00:00.000Z",
  amount,
  currency,
});
const [first, ...rest] = ["a.b", "c.d", "e.f", "g.h", "i.j"];
const { conditions } = sampleReport([]);
const repeatDoubled =
  "npx --no -- certify --base-url https://sandbox.example --profile core --effects money --only create.repeated --seed 42";

/** What is reported, and a part of what each form says about it. */
const said: [what: string, report: Report, texts: Record<string, string | RegExp>][] = [
  [
    "a failure: its requirement, what was expected and received, why it matters, and how to repeat it",
    sampleReport([requirement("auth.key", "pass"), doubled]),
    {
      terminal: `✗ create.repeated  §4.1, must
    A duplicate reference is refused.
    why       The recipient is paid twice.
    check     8 at once
    request   #3 POST https://sandbox.example/v1/disbursements, 200
    expected  one HTTP 200
    received  three HTTP 200:
              DSB1, DSB2
    repeat    curl last

Re-run these: ${repeatDoubled}
`,
      "summary.md": `| \`create.repeated\` | §4.1 | three HTTP 200:\\\\nDSB1, DSB2 |

\`\`\`sh
${repeatDoubled}
`,
      "report.json": '"repeat": "curl last"',
      "report.html": "The recipient is paid twice.",
      "junit.xml": `Requirement: A duplicate reference is refused. (§4.1, must)
Expected: one HTTP 200
Received: three HTTP 200:
DSB1, DSB2
Why it matters: The recipient is paid twice.
Repeat: curl last`,
    },
  ],
  [
    "many failures of one cause",
    allFail(40),
    {
      terminal:
        /^40 requirements, one cause: The target responds with 500 Internal .*\n✗ create\.0 [^✗]* {4}also {6}create\.1, create\.2[^✗]*$/m,
      "junit.xml": "HTTP 409 (same cause as 39 other requirements: The target responds with 500 Internal",
      "report.json": /"causes": \[\s*\{\s*"title": "The target responds with 500 [^}]*"create.39"\s*\]\s*\}\s*\]/,
    },
  ],
  [
    "a failure that several checks show",
    sampleReport([
      requirement("x", "fail", { checks: ["a", "b", "c"].map((name) => check({ name, verdict: "fail" })) }),
    ]),
    { terminal: "check     a, and 2 more checks\n" },
  ],
  [
    "what is not applicable",
    sampleReport([requirement(first!, "pass"), ...rest.map((id) => notApplicable(id))]),
    {
      terminal:
        /^CERTIFIED {2}core · effects money · 1 of 5 musts · 4 not applicable: c\.d, e\.f, g\.h and 1 more · https:\/\/sandbox.example\n[^]*\nNot judged \(4\): c\.d, e\.f, g\.h, i\.j\n {4}The target has no payment page to finish\.\n1 of 5 musts passed, 4 not applicable\nPaid nothing in 3 of 500 allowed payouts\n/,
      "report.json": /"must": \{\s*"total": 5,\s*"passed": 1,\s*"failed": 0,\s*"notApplicable": 4/,
    },
  ],
  [
    "what the caller did not provide, with the command that adds it, without keys",
    sampleReport([requirement("a.b", "pass"), left("c.d", "caller"), left("e.f", "caller")], {
      verdict: "passed-partially",
      notProvided: [
        { what: "a second merchant's key (API_KEY_2)", provide: "API_KEY_2=KEY", requirements: ["c.d"] },
        { what: "a recipient", provide: "--failing-recipient PHONE", requirements: ["e.f"] },
      ],
    }),
    {
      terminal:
        /not provided: a second merchant's key \(API_KEY_2\); a recipient · [^]*\nTo judge the rest: API_KEY_2=KEY npx --no -- certify --base-url https:\/\/sandbox.example --profile core --effects money --seed 42 --failing-recipient PHONE\n/,
    },
  ],
  [
    "a partial run",
    sampleReport([requirement("a.b", "pass"), left("c.d", "effects")], {
      verdict: "passed-partially",
      effects: "none",
      only: ["a.b"],
    }),
    { terminal: /core · effects none · --only · 1 of 2 musts[^]*To judge the rest: .* --effects money --seed 42\n/ },
  ],
  [
    "a run that ended early",
    sampleReport(
      [
        requirement("a.b", "could-not-run", {
          checks: [],
          reason: { code: "stopped", text: "The budget was used up." },
        }),
      ],
      {
        errors: ["connect ECONNREFUSED"],
      },
    ),
    {
      terminal: /^NOT COMPLETED .*\n.*\n! connect ECONNREFUSED\n/,
      "junit.xml": /<error message="connect ECONNREFUSED">[^]*<error message="The budget was used up\.">/,
    },
  ],
  [
    "an outdated list of known failures and a false declaration",
    sampleReport([], { baselineProblems: ["a: no longer fails."], falseDeclaration: "--declare: largestAmount" }),
    {
      terminal: "✗ a: no longer fails.",
      "junit.xml": /<failure message="--declare: largestAmount">[^]*<failure message="a: no longer fails\.">/,
    },
  ],
  [
    "a known failure",
    sampleReport([
      requirement("a", "warn", {
        checks: [failedCheck()],
        knownFailure: { reason: "Fixed in 4.2", expires: "2026-12-31" },
      }),
    ]),
    { "junit.xml": '<skipped message="Known failure until 2026-12-31: Fixed in 4.2">' },
  ],
  [
    "payouts: their sums by currency, and those that the target must refuse",
    sampleReport([], { created: [{ ...paid(100, "GHS"), unintended: true }, paid(10_000, "XOF"), paid(50, "XOF")] }),
    { terminal: /Paid 100\.50 XOF and 1\.00 GHS in 3 of 500[^]*The target created 1 record that it must refuse/ },
  ],
  [
    "what Dredd judged",
    sampleReport([], { dredd: { transactions: 12, failed: ["GET /a → 200"] } }),
    {
      terminal: "\nDredd judged 12 documented responses, each provoked by a request: 1 not as documented",
      "report.html": "12 documented",
    },
  ],
  [
    "what Prism disagrees about",
    sampleReport([], {
      secondOpinion: { answers: 9, disagreements: [{ exchange: exchange(), suite: [], prism: ["type"] }] },
    }),
    { terminal: /Prism validated 9 responses and disagrees .* 1 of them\.\n.* → 200: suite: valid; Prism: type/ },
  ],
  [
    "lenient conditions",
    sampleReport([], { foundLimits: { largestAmount: 5 }, conditions: { ...conditions, rate: 3 } }),
    {
      terminal: "Lenient conditions: the target has a limit: amounts up to 5; slowed down to 3 requests",
      "report.html": "slowed down",
    },
  ],
  [
    "observed behaviour",
    sampleReport([requirement("split", "observed")], {
      observed: [{ requirement: "split", name: "missing amount", value: { data: { url: "s", none: {} } } }],
    }),
    {
      "report.html": /data → url: <code>&quot;s&quot;<\/code>[^]*data → none: <code>\{\}<\/code>/,
      terminal: "1 of 1 open questions observed",
    },
  ],
  [
    "a badge",
    sampleReport([requirement("a.b", "fail")]),
    {
      "summary.md":
        "![conformance: core: failed, 0 of 1 musts](https://img.shields.io/badge/conformance-core%3A%20failed%2C%200%20of%201%20musts-red)",
    },
  ],
];
test.each(said)("says %s", (_, report, texts) => {
  const forms = formsOf(report);
  for (const [form, text] of Object.entries(texts)) {
    if (typeof text === "string") expect(forms[form]).toContain(text);
    else expect(forms[form]).toMatch(text);
  }
});

test.each<[string, Partial<CheckResult>, RegExp]>([
  ["the request that shows the failure", { shownBy: 7 }, /^curl -i one$/],
  ["the check if several requests show it", {}, /^npx --no -- certify .* --only a --seed 42 --timeout 50$/],
  [
    "the check if one of its requests raced",
    { shownBy: 7, exchanges: [exchange({ id: 7, curl: raceCommand })] },
    /^npx /,
  ],
  ["the check if no command can contain the request", { shownBy: 8 }, /^npx /],
])("a failure is repeated by %s", (_, over, command) => {
  const several = failedCheck({}, { id: 7, curl: "curl -i one" }, { id: 8, curl: "# too long" });
  const checks = [{ ...several, ...over }];
  const report = sampleReport([requirement("a", "fail", { checks })], { repeatFlags: ["--timeout", "50"] });
  const { requirements } = JSON.parse(formsOf(report)["report.json"]!) as {
    requirements: [{ checks: [{ repeat: string }] }];
  };
  expect(requirements[0].checks[0].repeat).toMatch(command);
});

test("commands are quoted for a shell", () => {
  const report = sampleReport([requirement("a", "fail")], { baseUrl: "http://127.0.0.1:3000/a b'$(x)", seed: -7 });
  expect(formsOf(report)["terminal"]).toContain(
    String.raw` --base-url 'http://127.0.0.1:3000/a b'\''$(x)' --profile core`,
  );
});

test("a report keeps the exchange that shows a failure, and a part of the others", () => {
  const exchanges = Array.from({ length: 30 }, (_, id) => exchange({ id, responseBody: "x".repeat(4000) }));
  const checks = [check({ verdict: "fail", exchanges, shownBy: 20, contradictedBy: 25 })];
  const { report } = renderReports(sampleReport([requirement("a", "fail", { checks })]), [], now);
  const [kept] = report.requirements[0]!.checks;
  expect(kept?.exchanges.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 20, 25]);
  expect(kept?.exchangesLeftOut).toBe(20);
  expect(kept?.exchanges[0]?.responseBody).toHaveLength(2001);
});

test("a known failure is tolerated in every form", () => {
  const known = [{ id: "create.echo", reason: "Repaired in 4.2", expires: "2026-12-31" }];
  const { report, json } = renderReports(sampleReport([requirement("create.echo", "fail")]), known, now);
  expect([report.verdict, exitCodeOf(report)]).toEqual(["passed-partially", 0]);
  expect(JSON.parse(json)).toMatchObject({ requirements: [{ knownFailure: { reason: "Repaired in 4.2" } }] });
});

/** Returns the attributes and the text of each element that an XPath expression selects in junit.xml. */
function found(report: Report, path: string): Record<string, string>[] {
  using document = XmlDocument.fromString(renderJunit(report));
  return document.find(path).map((node) => {
    const attributes = node instanceof XmlElement ? node.attrs.map(({ name, value }) => [name, value]) : [];
    return { ...Object.fromEntries(attributes), text: node.content };
  });
}

test("junit.xml has a suite for each topic, with an element for each verdict and the totals", () => {
  const verdicts = ["pass", "fail", "could-not-run", "not-applicable", "warn", "observed"] as const;
  const report = sampleReport([
    ...verdicts.map((verdict) => requirement(`auth.${verdict}`, verdict)),
    requirement("lists.c", "pass"),
  ]);
  const counts = { failures: "1", errors: "1", skipped: "1" };
  expect(found(report, "/testsuites")).toMatchObject([{ ...counts, tests: "7", time: "18.500" }]);
  expect(found(report, "//testsuite")).toMatchObject([
    { ...counts, name: "auth", tests: "6", time: "0.100" },
    { name: "lists", tests: "1" },
  ]);
  for (const [verdict, element] of Object.entries({
    fail: "failure",
    "could-not-run": "error",
    "not-applicable": "skipped",
    warn: "system-out",
    observed: "system-out",
  }))
    expect(found(report, `//testcase[@classname="auth.${verdict}"]/${element}`)).toHaveLength(1);
  expect(found(report, '//testcase[@classname="auth.pass"]/*')).toEqual([]);
});

const evil = (): Report => {
  const headers = { [hostile]: hostile };
  const shown = {
    method: hostile,
    url: hostile,
    requestHeaders: headers,
    requestBody: hostile,
    responseBody: hostile,
    curl: hostile,
  };
  const checks = [failedCheck({ name: hostile, expected: hostile, actual: hostile }, shown)];
  return sampleReport(
    [
      requirement("a", "fail", { text: hostile, section: hostile, checks }),
      requirement("b", "could-not-run", { checks: [], reason: { code: "stopped", text: hostile } }),
      requirement(`${hostile}.c`, "not-applicable"),
    ],
    { baseUrl: hostile, summary: hostile, errors: [hostile], baselineProblems: [hostile] },
  );
};

test("what a target sent is text in every form", () => {
  const { terminal, "summary.md": summary, "junit.xml": junit } = formsOf(evil());
  for (const text of [terminal, summary, junit])
    expect(text!.replaceAll("\n", "")).not.toMatch(/[\p{Control}\p{Surrogate}\u202a-\u202e]/u);
  expect(summary!.replace(/```sh\n[^]*?\n```/, "")).not.toMatch(/(?<!\\)<script|(?<!\\)&amp;/);
  expect(found(evil(), "//script | //img")).toEqual([]);
  expect(found(evil(), "//failure[1]")[0]?.["text"]).toContain("&amp;]]>\\u{1b}[2J");
});

test.each([
  ["escape sequences", "a\u001b[2Jb\u009bc\nd", "a\\u{1b}[2Jb\\u{9b}c\nd"],
  ["a carriage return that would overwrite the line", "pass\rfail\0", "pass\\u{d}fail\\u{0}"],
  ["marks of direction and characters without width", "\u202egnp\u200b\ufeff", "\\u{202e}gnp\\u{200b}\\u{feff}"],
  ["lone surrogates, tags and noncharacters", "\ud800\u{e0041}\ufffe", "\\u{d800}\\u{e0041}\\u{fffe}"],
  ["nothing else", "Kofi Ñandú 漢字 👍\ta\ufffd", "Kofi Ñandú 漢字 👍\ta\ufffd"],
])("what is printed has %s as text", (_, text, expected) => {
  const [log, error] = (["log", "error"] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation(() => undefined),
  );
  print(text);
  complain(text);
  complain(new Error(text));
  expect(log!.mock.calls).toEqual([[expected]]);
  expect(error!.mock.calls).toEqual([[expected], [expect.stringContaining(expected)]]);
  vi.restoreAllMocks();
});

test("the terminal has colours only on request", () => {
  const escape = "\u001b[";
  expect(renderTerminal(sampleReport([doubled]), { color: true })).toContain(escape);
  expect(renderTerminal(sampleReport([doubled]), { color: false })).not.toContain(escape);
});
