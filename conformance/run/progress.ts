// Shows the progress of a run: counts, time left and money spent. A terminal shows them in one line, which is overwritten.
// Any other output gets one line per check.
import type { CheckReport } from "./verdicts.ts";
import { paidOf } from "../report/scope.ts";
import { oneLine } from "../report/visible.ts";
import { sums } from "../report/words.ts";
import { worstOf, type CreatedRecord } from "../results.ts";

export type Output = { write(text: string): unknown; isTTY?: boolean; columns?: number };

const marks = {
  pass: "ok",
  fail: "FAIL",
  warn: "warn",
  observed: "observed",
  "not-applicable": "n/a",
  "could-not-run": "not run",
};

/** A line names its requirements only if there are at most this many. */
const mostIds = 8;

/** Renders the expected time. Rounded up: finishing early is better than late. */
function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `about ${seconds} s left` : `about ${Math.ceil(seconds / 60)} min left`;
}

/**
 * Creates functions that show when a check starts, when it finishes, and when the run ends.
 * @param total the number of checks in the run
 * @param mostLines limits other outputs than a terminal: only checks that need attention get a line, up to this number
 */
export function createProgress(output: Output, total: number, mostLines?: number, now = Date.now) {
  const isTerminal = output.isTTY === true;
  const startedAt = now();
  const created: CreatedRecord[] = [];
  let done = 0;
  let failed = 0;
  let lines = 0;
  let stopped = false;
  const clear = () => {
    if (isTerminal) output.write("\r\u001B[2K");
  };
  /** Renders the counts, with the sums last, because they may be long in a run with many currencies. */
  function counts(name: string): string {
    const paid = paidOf(created);
    const parts = [
      `[${done + 1}/${total}]`,
      failed > 0 ? `${failed} failed` : "",
      done === 0 || done === total ? "" : timeLeft(((now() - startedAt) / done) * (total - done)),
      oneLine(name),
      paid.length > 0 ? `paid ${oneLine(sums(paid))}` : "",
    ];
    return parts.filter((part) => part !== "").join("  ");
  }
  return {
    started(name: string) {
      if (!isTerminal) return;
      clear();
      output.write(counts(name).slice(0, (output.columns || 80) - 1));
    },
    finished(name: string, { results, created: records, stopped: why }: CheckReport) {
      done += 1;
      clear();
      const verdict = worstOf(Object.values(results).map((result) => result.verdict));
      // One line says why the run was stopped, instead of one line for each check that did not run.
      if (verdict === "could-not-run" && why !== undefined) {
        if (!stopped) output.write(`${"STOPPED".padEnd(10)}${oneLine(why)}\n`);
        stopped = true;
        return;
      }
      if (verdict === "fail") failed += 1;
      created.push(...records);
      const needsAttention = verdict !== "pass" && verdict !== "observed" && verdict !== "not-applicable";
      // On a terminal, only the checks that need attention get a line that stays.
      if (!needsAttention && (isTerminal || mostLines !== undefined)) return;
      lines += 1;
      if (!isTerminal && lines > (mostLines ?? Infinity)) return;
      const ids = Object.keys(results).filter((id) => results[id]?.verdict === verdict);
      const which = ids.length > 0 && ids.length <= mostIds ? `  [${ids.join(", ")}]` : "";
      output.write(`${marks[verdict].padEnd(10)}${oneLine(name)}${which}\n`);
    },
    ended: clear,
  };
}
