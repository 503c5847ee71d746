import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../../server/testing/resources.ts";
import type { Verdict } from "../results.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { historyOf } from "./history.ts";

const letters: Record<string, Verdict> = { P: "pass", F: "fail", W: "warn", N: "not-applicable", C: "could-not-run" };
const verdictsOver5Days = {
  "always.passes": "PPPPP",
  "never.judged": "NNCNN",
  "create.race": "PFPPP",
  "worse.since": "PPWFF",
  "fails.when-judged": "NFNNN",
  "flickers.unseen": "FNPCF",
};

test("shows by target, requirement and run what failed, and what flickers", () => {
  const folder = testFolder();
  const write = (name: string, content: unknown) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify(content));
  };
  expect(() => historyOf(folder)).toThrow("contains no report of certify. Keep the report of each run");
  for (const day of [4, 3, 2, 1, 0]) {
    const results = Object.entries(verdictsOver5Days).map(([id, days]) => requirement(id, letters[days[day]!]!));
    write(`${day}/report.json`, sampleReport(results, { startedAt: `2026-11-0${day + 1}T10:00:18.000Z` }));
  }
  write("of/another/report.json", sampleReport([requirement("x", "pass")], { profile: "extended" }));
  expect(historyOf(folder)).toBe(`https://sandbox.example · core · 5 runs
  2026-11-01 10:00 UTC  Failed
  2026-11-02 10:00 UTC  Failed
  2026-11-03 10:00 UTC  Not completed
  2026-11-04 10:00 UTC  Failed
  2026-11-05 10:00 UTC  Failed
~ create.race        ·F···
  worse.since        ··wFF
  fails.when-judged   F
~ flickers.unseen    F ·?F
  2 requirements never failed

https://sandbox.example · extended · 1 run
  2026-11-20 10:00 UTC  Certified
  1 requirement never failed

· passed   F failed   w warning or known failure   ? could not run   blank: not judged
~ flickers: failed, and passed before and after, or the reverse
`);
  write("empty/report.json", {});
  expect(() => historyOf(folder)).toThrow("is not a report of certify");
});
