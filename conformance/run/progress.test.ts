import { expect, test } from "vitest";
import { createProgress } from "./progress.ts";

test("a terminal shows counts, time left and money in one line, and a line for each failure", () => {
  const lines: string[] = [];
  let time = 0;
  const output = { isTTY: true, columns: 200, write: (text: string) => lines.push(text) };
  const progress = createProgress(output, 3, undefined, () => time);
  for (const name of ["a", "b", "c"]) {
    progress.started(name);
    time += 7000;
    const created = name === "b" ? [{ kind: "disbursement", amount: 500, currency: "XOF" }] : [];
    const verdict = name === "b" ? "fail" : "pass";
    progress.finished(name, { created, results: { "create.a": { verdict } } } as never);
  }
  expect(lines.filter((line) => line !== "\r\u001B[2K")).toEqual([
    "[1/3]  a",
    "[2/3]  about 14 s left  b",
    "FAIL      b  [create.a]\n",
    "[3/3]  1 failed  about 7 s left  c  paid 5.00 XOF",
  ]);
});
