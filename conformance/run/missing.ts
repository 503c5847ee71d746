// Tells the caller, before a run pays, what to add so that more requirements are judged.
import type { Check } from "../check.ts";
import { counted } from "../report/words.ts";
import type { RunOptions } from "../run-options.ts";
import { listens, unmetNeed } from "./needs.ts";

/** Returns a line for each thing that checks need and that the caller did not provide. */
export function missingLines(checks: readonly Check[], options: RunOptions): string[] {
  const lacking = checks.flatMap((check) => {
    const reason = unmetNeed(check, options, listens(options));
    return reason?.code === "caller" ? [{ ids: check.ids, ...reason }] : [];
  });
  return [...Map.groupBy(lacking, ({ text }) => text)].map(([text, each], index) => {
    const ids = new Set(each.flatMap(({ ids: some }) => some));
    const how = each[0]?.provide === undefined ? "" : `. To judge this, add ${each[0].provide}`;
    return `${index === 0 ? "Missing" : ""}`.padEnd(9) + `${text}, for ${counted(ids.size, "requirement")}${how}`;
  });
}
