// Measures what each check pays on the reference server and writes run/estimates.ts, from which the plan says what a run
// is expected to cost. `npm run estimates -- --check` only compares, and fails if the total differs by more than a fifth.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checks } from "../checks/index.ts";
import { paidOf } from "../report/tally.ts";
import { openSession } from "../run/open.ts";
import { estimates, type Estimate } from "../run/estimates.ts";
import { selectedChecks } from "../run/selection.ts";
import { startBroken } from "./server.ts";
import { optionsFor } from "./trial.ts";

const server = await startBroken();
const options = await optionsFor(server, ["--profile", "extended", "--effects", "money"]);
const { session, close } = await openSession(options);
const measured: Record<string, Estimate> = {};
for (const check of selectedChecks(checks, [], options)) {
  const { created } = await session.runCheck(check);
  // A check that adapts to the budget is not measured, because what it pays depends on the run.
  if (check.effect === "moves-money" && typeof check.amount !== "function") measured[check.name] = paidOf(created);
}
await close();
await server.stop();

const payoutsOf = (all: Record<string, Estimate>) =>
  Object.values(all)
    .flat()
    .reduce((total, { payouts }) => total + payouts, 0);
const [before, after] = [payoutsOf(estimates), payoutsOf(measured)];
console.log(`${before} payouts expected, ${after} measured`);
if (process.argv.includes("--check")) {
  process.exit(Math.abs(after - before) > before / 5 ? 1 : 0);
}
const file = join(import.meta.dirname, "../run/estimates.ts");
writeFileSync(
  file,
  `// Written by \`npm run estimates\`. Do not edit.
import type { Paid } from "../report/tally.ts";

/** What a check paid on the reference server, by currency. */
export type Estimate = readonly Paid[];

/** The payouts of each check that makes any, by the check's name. */
export const estimates: Readonly<Record<string, Estimate>> = ${JSON.stringify(measured)};
`,
);
execFileSync("prettier", ["--log-level", "warn", "--write", file]);
process.exit(0);
