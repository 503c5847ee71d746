import { expect, test } from "vitest";
import type { CreatedRecord, Verdict } from "../results.ts";
import { createProgress } from "./progress.ts";
import type { CheckReport } from "./verdicts.ts";

const paid: CreatedRecord = { kind: "disbursement", at: "2026-11-20T10:00:00.000Z", amount: 1250, currency: "XOF" };

function reportOf(verdict: Verdict, created: CreatedRecord[] = []): CheckReport {
  const result = { name: "n", verdict, expected: "e", actual: "a", exchanges: [], durationMs: 1 };
  return { results: { "create.a": result }, notApplicable: {}, created, observed: [], payouts: 0, total: 0, found: {} };
}

/** Shows the progress of a run of `total` checks that take a second each. Returns what was written. */
function shown(isTTY: boolean, total: number, verdict: Verdict, mostLines?: number): string[] {
  const lines: string[] = [];
  let time = 0;
  const progress = createProgress({ isTTY, write: (text) => lines.push(text) }, total, {
    now: () => time,
    ...(mostLines === undefined ? {} : { mostLines }),
  });
  for (let count = 1; count <= total; count += 1) {
    progress.started(`check ${count}`);
    time += 1000;
    progress.finished(`check ${count}`, reportOf(count === 2 ? verdict : "pass", count === 1 ? [paid] : []));
  }
  progress.ended();
  return lines.filter((line) => line !== "\r\u001B[2K");
}

test("an output with few lines shows failures and counts", () => {
  expect(shown(false, 26, "fail", 1)).toEqual([
    expect.stringContaining("check 2"),
    expect.stringMatching(/^\[25\/26\]  1 failed/),
  ]);
  expect(shown(false, 26, "fail", 0)).toHaveLength(1);
});

test("a terminal shows counts, money spent and the time left in one line", () => {
  expect(shown(true, 4, "fail")).toEqual([
    "[1/4]  check 1",
    "[2/4]  paid 12.50 XOF, about 3 s left  check 2",
    "FAIL      check 2  [create.a]\n",
    "[3/4]  1 failed, paid 12.50 XOF, about 2 s left  check 3",
    "[4/4]  1 failed, paid 12.50 XOF, about 1 s left  check 4",
  ]);
});

test("any other output gets a line per check, and the counts now and then", () => {
  const lines = shown(false, 200, "pass");
  expect(lines.filter((line) => line.startsWith("ok  "))).toHaveLength(200);
  expect(lines.filter((line) => line.startsWith("["))).toHaveLength(8);
  expect(lines).toContain("[25/200]  paid 12.50 XOF, about 3 min left\n");
});
