// Tests what the forms of a report say: terminal, junit.xml, summary.md, report.json and report.html. How report.html
// behaves in a browser is tested in html.full.test.ts.
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { expect, test, vi } from "vitest";
import type { CheckResult, Report } from "../results.ts";
import { renderReports } from "../cli/reporting.ts";
import { raceCommand } from "../target/recorder.ts";
import {
  busyReport,
  check,
  exchange,
  failedCheck,
  hostileReport,
  outage,
  requirement,
  sampleReport,
} from "../testing/sample-report.ts";
import { renderJunit } from "./junit.ts";
import { complain, print } from "./visible.ts";
import { renderTerminal } from "./terminal.ts";

const formsOf = (report: Report): Record<string, string> => ({
  terminal: renderTerminal(report, { color: false }),
  ...renderReports(report).contents,
});

const repeated = "npx --no -- certify --base-url https://sandbox.example --profile core --effects money";

test("the terminal shows the verdict, each cause with its evidence, what was not judged, and the counts", () => {
  expect(formsOf(busyReport)["terminal"])
    .toBe(`FAILED  core · effects money · 1 of 11 musts · 4 not applicable: late.a, late.b, late.c and 1 more · not provided: a second key · https://sandbox.example
1 of 12 requirements passed.
! connect ECONNREFUSED

✗ create.repeated  §4.1, must
    A duplicate reference is refused.
    why       The recipient is paid twice.
    check     8 at once
    request   #3 POST https://sandbox.example/v1/disbursements, 200
    expected  one HTTP 200
    received  three HTTP 200:
              DSB1, DSB2
    fix       Put a unique constraint on the reference.
    repeat    curl last

3 requirements, one cause: The target responds with 500 Internal Server Error. The value reaches code or a database column that cannot take it. Validate the body before using it.
✗ create.a  §4.1, must
    What create.a promises.
    check     one after the other
    expected  HTTP 409
    received  HTTP 409
    repeat    ${outage.exchanges[0]!.curl}
    also      create.b, create.c

Re-run these: ${repeated} --only create.repeated,create.a,create.b,create.c --seed 42
Not judged (4): late.a, late.b, late.c, late.d
    It has no clock.
Not judged (1): keys.apart
    API_KEY_2 is not set.
Not judged (1): webhook.sent
    Out of budget.
Lenient conditions: the target has a limit: references of at most 30 characters
1 of 11 musts passed, 4 failed, 4 not applicable, 2 not judged in full; 1 of 1 open questions observed
Paid 200.00 XOF and 100.00 GHS in 3 of 500 allowed payouts
Dredd judged 12 documented responses, each provoked by a request: 1 not as documented
Prism validated 9 responses and disagrees with the suite about 1 of them.
  POST https://sandbox.example/v1/disbursements → 200: suite: valid; Prism: type
The target created 1 record that it must refuse
`);
});

test.each<[string, RegExp | string]>([
  [
    "summary.md",
    /^!\[conformance: core: failed, 1 of 11 musts\]\(https:\/\/img.shields.io\/badge\/conformance-core%3A%20failed/,
  ],
  ["summary.md", "| `create.repeated` | §4.1 | three HTTP 200:\\\\nDSB1, DSB2 |"],
  ["summary.md", `\`\`\`sh\n${repeated} --only create.repeated,create.a,create.b,create.c --seed 42\n\`\`\``],
  ["report.json", /"must": \{\s*"total": 11,\s*"passed": 1,\s*"failed": 4,\s*"notApplicable": 4,\s*"notJudged": 2/],
  ["report.json", /"title": "The target responds with 500 [^}]*"create.a",\s*"create.b",\s*"create.c"\s*\]/],
  ["report.json", '"repeat": "curl last"'],
  ["report.html", "The recipient is paid twice."],
  ["report.html", /How to fix it:<\/strong> Put a unique constraint[^]*\/docs\/requirements\/create\.repeated"/],
  ["junit.xml", /<error message="connect ECONNREFUSED">[^]*<failure message="--declare: largestAmount">/],
  ["junit.xml", "HTTP 409 (The target responds with 500 Internal"],
  [
    "junit.xml",
    "Received: three HTTP 200:\nDSB1, DSB2\nWhy it matters: The recipient is paid twice.\nHow to fix it: Put a unique constraint on the reference.\nRepeat: curl last<",
  ],
])("%s says %s", (form, text) => {
  expect(formsOf(busyReport)[form]).toMatch(text);
});

test("the rest of a partial run is judged by a command without keys", () => {
  const requirements = [
    requirement("a", "pass"),
    requirement("b", "not-applicable", { reason: { code: "effects", text: "" } }),
  ];
  const over = {
    verdict: "passed-partially",
    effects: "none",
    only: ["a"],
    notProvided: busyReport.notProvided,
  } as const;
  expect(formsOf(sampleReport(requirements, { ...over, only: ["a"] }))["terminal"]).toMatch(
    /^PASSED IN PART {2}core · effects none · --only · 1 of 2 musts · not provided: a second key · [^]*\nTo judge the rest: API_KEY_2=KEY npx .* --effects money --seed 42\n/,
  );
});

test.each<[string, Partial<CheckResult>, RegExp]>([
  ["the request that shows the failure", { shownBy: 7 }, /^curl -i one$/],
  [
    "the check if several requests show it, quoted for a shell",
    {},
    /^npx --no -- certify --base-url 'http:\/\/a\/b c'\\''\$\(x\)' .* --only a --seed 42 --timeout 50$/,
  ],
  [
    "the check if one of its requests raced",
    { shownBy: 7, exchanges: [exchange({ id: 7, curl: raceCommand })] },
    /^npx /,
  ],
  ["the check if no command can contain the request", { shownBy: 8 }, /^npx /],
])("a failure is repeated by %s", (_, over, command) => {
  const several = failedCheck({}, { id: 7, curl: "curl -i one" }, { id: 8, curl: "# too long" });
  const checks = [{ ...several, ...over }];
  const report = sampleReport([requirement("a", "fail", { checks })], {
    baseUrl: "http://a/b c'$(x)",
    repeatFlags: ["--timeout", "50"],
  });
  const { requirements } = JSON.parse(formsOf(report)["report.json"]!) as {
    requirements: [{ checks: [{ repeat: string }] }];
  };
  expect(requirements[0].checks[0].repeat).toMatch(command);
});

test("a report keeps the exchange that shows a failure, and a part of the others", () => {
  const exchanges = Array.from({ length: 30 }, (_, id) => exchange({ id, responseBody: "x".repeat(4000) }));
  const checks = [check({ verdict: "fail", exchanges, shownBy: 20, contradictedBy: 25 })];
  const { report } = renderReports(sampleReport([requirement("a", "fail", { checks })]));
  const [kept] = report.requirements[0]!.checks;
  expect(kept?.exchanges.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 20, 25]);
  expect(kept?.exchangesLeftOut).toBe(20);
  expect(kept?.exchanges[0]?.responseBody).toHaveLength(2000);
});

/** Returns the attributes and the text of each element that an XPath expression selects in junit.xml. */
function elementsAt(report: Report, path: string): Record<string, string>[] {
  using document = XmlDocument.fromString(renderJunit(report));
  return document.find(path).map((node) => {
    const attributes = node instanceof XmlElement ? node.attrs.map(({ name, value }) => [name, value]) : [];
    return { ...Object.fromEntries(attributes), text: node.content };
  });
}

test("junit.xml has a suite for each topic, with an element for each verdict and the totals", () => {
  const elements = {
    fail: "failure",
    "could-not-run": "error",
    "not-applicable": "skipped",
    warn: "system-out",
    observed: "system-out",
  };
  const verdicts = Object.keys(elements) as (keyof typeof elements)[];
  const results = verdicts.map((verdict) => requirement(`auth.${verdict}`, verdict));
  const report = sampleReport([...results, requirement("lists.c", "pass")]);
  const totals = { tests: "6", failures: "1", errors: "1", skipped: "1", time: "18.500" };
  expect(elementsAt(report, "/testsuites")).toMatchObject([totals]);
  expect(elementsAt(report, "//testsuite")).toMatchObject([{ name: "auth", tests: "5" }, { name: "lists" }]);
  for (const verdict of verdicts)
    expect(elementsAt(report, `//testcase[@classname="auth.${verdict}"]/${elements[verdict]}`)).toHaveLength(1);
  expect(elementsAt(report, '//testcase[@classname="lists.c"]/*')).toEqual([]);
});

test("what a target sent is text in every form", () => {
  const { terminal, "summary.md": summary, "junit.xml": junit } = formsOf(hostileReport);
  for (const text of [terminal, summary, junit])
    expect(text!.replaceAll("\n", "")).not.toMatch(/[\p{Control}\p{Surrogate}\u202a-\u202e]/u);
  expect(summary!.replace(/```sh\n[^]*?\n```/, "")).not.toMatch(/(?<!\\)<script|(?<!\\)&amp;/);
  expect(elementsAt(hostileReport, "//script | //img")).toEqual([]);
  expect(elementsAt(hostileReport, "//failure[1]")[0]?.["text"]).toContain("&amp;]]>\\u{1b}[2J");
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
