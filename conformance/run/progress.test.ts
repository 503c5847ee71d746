import { expect, test } from "vitest";
import type { Verdict } from "../results.ts";
import { createProgress } from "./progress.ts";

/** Shows the progress of checks, the second of which has this verdict. Returns what was written. */
function shown(isTTY: boolean, verdict: Verdict, mostLines?: number, names = ["a", "b", "c"]): string[] {
  const lines: string[] = [];
  let time = 0;
  const output = { isTTY, columns: 200, write: (text: string) => lines.push(text) };
  const progress = createProgress(output, names.length, mostLines, () => time);
  for (const name of names) {
    progress.started(name);
    time += 7000;
    const created = name === "b" ? [{ kind: "disbursement", amount: 500, currency: "XOF" }] : [];
    progress.finished(name, {
      created,
      results: { "create.a": { verdict: name === "b" ? verdict : "pass" } },
    } as never);
  }
  progress.ended();
  return lines.filter((line) => line !== "\r\u001B[2K");
}

test.each<[string, boolean, number | undefined, string[]]>([
  [
    "a terminal",
    true,
    undefined,
    [
      "[1/3]  a",
      "[2/3]  about 14 s left  b",
      "FAIL      b  [create.a]\n",
      "[3/3]  1 failed  about 7 s left  c  paid 5.00 XOF",
    ],
  ],
  [
    "another output",
    false,
    undefined,
    ["ok        a  [create.a]\n", "FAIL      b  [create.a]\n", "ok        c  [create.a]\n"],
  ],
  ["an output with few lines", false, 1, ["FAIL      b  [create.a]\n"]],
  ["an output with no lines", false, 0, []],
])("%s shows the progress of a run", (_, isTTY, mostLines, expected) => {
  expect(shown(isTTY, "fail", mostLines)).toEqual(expected);
});

test("an output that is not a terminal shows the counts now and then", () => {
  const lines = shown(false, "fail", undefined, ["a", "b", ..."x".repeat(28)]);
  expect(lines.filter((line) => line.startsWith("["))).toEqual(["[25/30]  1 failed  about 35 s left  paid 5.00 XOF\n"]);
});
