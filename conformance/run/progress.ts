// Shows the progress of a run. A terminal shows the current check in one line, which is overwritten. Any other output
// gets one line per check.
import type { CheckReport } from "./verdicts.ts";
import { oneLine } from "../report/visible.ts";
import { worstOf } from "../results.ts";

export type Output = { write(text: string): unknown; isTTY?: boolean; columns?: number };

const marks = {
  pass: "ok",
  fail: "FAIL",
  warn: "warn",
  observed: "observed",
  "not-applicable": "n/a",
  "could-not-run": "not run",
};

/**
 * Creates functions that show when a check starts, when it finishes, and when the run ends.
 * @param total the number of checks in the run
 */
export function createProgress(output: Output, total: number) {
  const live = output.isTTY === true;
  let done = 0;
  let stopped = false;
  const clear = () => {
    if (live) output.write("\r\u001B[2K");
  };
  return {
    started(name: string) {
      if (!live) return;
      clear();
      const width = (output.columns || 80) - 1;
      output.write(`[${done + 1}/${total}] ${oneLine(name)}`.slice(0, width));
    },
    finished(name: string, report: CheckReport | undefined) {
      done += 1;
      clear();
      const verdict = report ? worstOf(Object.values(report.results).map((result) => result.verdict)) : "could-not-run";
      // One line says why the run was stopped, instead of one line for each check that did not run.
      if (verdict === "could-not-run" && report?.stopped !== undefined) {
        if (!stopped) output.write(`${"STOPPED".padEnd(10)}${oneLine(report.stopped)}\n`);
        stopped = true;
        return;
      }
      // On a terminal, only the checks that need attention get a line that stays.
      if (live && (verdict === "pass" || verdict === "observed" || verdict === "not-applicable")) return;
      const ids = Object.entries(report?.results ?? {}).filter(([, result]) => result.verdict === verdict);
      const which = ids.map(([id]) => id).join(", ");
      output.write(`${marks[verdict].padEnd(10)}${oneLine(name)}${which ? `  [${which}]` : ""}\n`);
    },
    ended: clear,
  };
}
