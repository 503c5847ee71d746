import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Verdict } from "../results.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { historyOf, renderHistory } from "./history.ts";

const letters: Record<string, Verdict> = { P: "pass", F: "fail", W: "warn", N: "not-applicable", C: "could-not-run" };

/** Makes reports of one day each, from a line of verdicts for each requirement. */
const runsOf = (lines: Record<string, string>, over = {}) =>
  [...Object.values(lines)[0]!].map((_, day) =>
    sampleReport(
      Object.entries(lines).map(([id, verdicts]) => requirement(id, letters[verdicts[day]!]!)),
      { startedAt: `2026-11-0${day + 1}T10:00:18.000Z`, ...over },
    ),
  );

test("lists by requirement and time what flickers, fails and was fixed, and counts the others", () => {
  const runs = runsOf({
    "always.passes": "PPPPP",
    "seldom.judged": "NNPNN",
    "never.judged": "NNCNN",
    "create.race": "PFPPP",
    "worse.since": "PPWFF",
    "better.since": "FFPPP",
    "fails.when-judged": "NFNNN",
    "flickers.unseen": "FNPNF",
  });
  expect(renderHistory(runs.toReversed())).toBe(`https://sandbox.example · core · 5 runs
    1  2026-11-01 10:00 UTC  Failed
    2  2026-11-02 10:00 UTC  Failed
    3  2026-11-03 10:00 UTC  Not completed
    4  2026-11-04 10:00 UTC  Failed
    5  2026-11-05 10:00 UTC  Failed

  run                  1  2  3  4  5

Flickering: failed, and passed before and after, or the reverse (2)
  create.race          ·  F  ·  ·  ·
  flickers.unseen      F     ·     F

Failing (2)
  worse.since          ·  ·  w  F  F
  fails.when-judged       F

Fixed (1)
  better.since         F  F  ·  ·  ·

2 requirements passed whenever judged; 1 not judged.

· passed   F failed   w warning or known failure   ? could not run   blank: not judged
`);
});

test("compares runs of one target and profile only; its port on this machine does not matter", () => {
  const [a, b] = runsOf({ x: "PF" }, { baseUrl: "http://127.0.0.1:4000" });
  const c = sampleReport([requirement("x", "pass")], {
    profile: "extended",
    baseUrl: "http://127.0.0.1:4001",
    only: ["x"],
  });
  const text = renderHistory([a!, { ...b!, baseUrl: "http://127.0.0.1:4001", suiteVersion: "2.0.0" }, c]);
  expect(text).toMatch(
    /^http:\/\/127\.0\.0\.1 · core · 2 runs\n.*\n.*suite 2\.0\.0\n[^]*· extended · 1 run\n.*--only\n/m,
  );
});

test("reads the reports in a folder and below, and names files that are none", () => {
  const folder = mkdtempSync(join(tmpdir(), "history-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(() => historyOf(folder)).toThrow("contains no report of certify. Keep the report of each run");
  expect(() => historyOf(join(folder, "none"))).toThrow("cannot be read: ENOENT");
  for (const [name, content] of Object.entries({
    a: JSON.stringify(sampleReport([requirement("x", "pass")])),
    b: "{}",
  })) {
    mkdirSync(join(folder, "runs", name), { recursive: true });
    writeFileSync(join(folder, "runs", name, "report.json"), content);
  }
  expect(historyOf(folder)).toMatch(/^Left out: .*b\/report\.json is not a report of certify\.\n[^]*· 1 run\n/);
});
