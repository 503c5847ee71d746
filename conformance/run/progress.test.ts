import { expect, test } from "vitest";
import type { Verdict } from "../results.ts";
import { createProgress } from "./progress.ts";

/** Shows the progress of a run of three checks, the second of which has this verdict. Returns what was written. */
function shown(isTTY: boolean, verdict: Verdict, mostLines?: number): string[] {
  const lines: string[] = [];
  const progress = createProgress({ isTTY, write: (text) => lines.push(text) }, 3, mostLines);
  for (const name of ["a", "b", "c"]) {
    progress.started(name);
    progress.finished(name, { results: { "create.a": { verdict: name === "b" ? verdict : "pass" } } } as never);
  }
  progress.ended();
  return lines.filter((line) => line !== "\r\u001B[2K");
}

test.each<[string, boolean, number | undefined, string[]]>([
  ["a terminal", true, undefined, ["[1/3]  a", "[2/3]  b", "FAIL      b  [create.a]\n", "[3/3]  1 failed  c"]],
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
