// Shows the progress of a run. A terminal shows the current check in one line, which is overwritten. Any other output gets
// one line per check.
import type { CheckReport } from "./verdicts.ts";
import { oneLine } from "../report/visible.ts";
import { worstOf, type Verdict } from "../results.ts";

export type Output = { write(text: string): unknown; isTTY?: boolean; columns?: number };

const marks = {
  pass: "ok",
  fail: "FAIL",
  warn: "warn",
  observed: "observed",
  "not-applicable": "n/a",
  "could-not-run": "not run",
};

/** A longer list of requirements is left out. */
const mostIds = 8;

const verdictOf = (report: CheckReport | undefined): Verdict =>
  report ? worstOf(Object.values(report.results).map((result) => result.verdict)) : "could-not-run";

/**
 * Creates functions that show when a check starts, when it finishes, and when the run ends.
 * @param total the number of checks in the run
 * @param mostLines on an output that is not a terminal, only failures get a line, and no more than these
 */
export function createProgress(output: Output, total: number, mostLines?: number) {
  const live = output.isTTY === true;
  let done = 0;
  let failed = 0;
  let lines = 0;
  let stopped = false;
  const clear = () => {
    if (live) output.write("\r\u001B[2K");
  };
  return {
    started(name: string) {
      if (!live) return;
      clear();
      const text = `[${done + 1}/${total}]  ${failed > 0 ? `${failed} failed  ` : ""}${oneLine(name)}`;
      output.write(text.slice(0, (output.columns || 80) - 1));
    },
    finished(name: string, report: CheckReport | undefined) {
      done += 1;
      clear();
      const verdict = verdictOf(report);
      // One line says why the run was stopped, instead of one line for each check that did not run.
      if (verdict === "could-not-run" && report?.stopped !== undefined) {
        if (!stopped) output.write(`${"STOPPED".padEnd(10)}${oneLine(report.stopped)}\n`);
        stopped = true;
        return;
      }
      if (verdict === "fail") failed += 1;
      const needsAttention = verdict !== "pass" && verdict !== "observed" && verdict !== "not-applicable";
      // On a terminal, only the checks that need attention get a line that stays.
      if (!needsAttention && (live || mostLines !== undefined)) return;
      lines += 1;
      if (!live && lines > (mostLines ?? Infinity)) return;
      const ids = Object.entries(report?.results ?? {}).filter(([, result]) => result.verdict === verdict);
      const which = ids.length > 0 && ids.length <= mostIds ? `  [${ids.map(([id]) => id).join(", ")}]` : "";
      output.write(`${marks[verdict].padEnd(10)}${oneLine(name)}${which}\n`);
    },
    ended: clear,
  };
}
