#!/usr/bin/env node
// The command line of the suite. Exit codes: 0 all that was selected passed, 1 something failed, 2 it could not do its work.
import { randomInt } from "node:crypto";
import { usage } from "./cli/flags.ts";
import { OptionsError, readOptions } from "./cli/options.ts";
import { checksBeyondBudget, needsConsent, planLines } from "./run/plan.ts";
import { NoPrism, startPrism } from "./contract/prism.ts";
import { CannotRun, probe } from "./cli/probe.ts";
import { renderTerminal } from "./report/terminal.ts";
import { oneLine } from "./report/visible.ts";
import type { Report } from "./results.ts";
import { writeReports, makeFolder } from "./cli/reporting.ts";
import { plannedChecks, run } from "./run/run.ts";
import { isSubcommand, runSubcommand } from "./cli/subcommands.ts";

async function certify(args: readonly string[]): Promise<number> {
  const given = readOptions(args, process.env, () => randomInt(2 ** 31));
  const options = await probe(given);
  const planned = plannedChecks(options);
  for (const line of planLines(planned, options)) console.log(line);
  if (planned.length === 0) {
    throw new CannotRun(`Nothing is selected: --effects ${options.effects} leaves no check of what --only names.`);
  }
  if (given.reporting.signing !== undefined && checksBeyondBudget(planned, options).length > 0) {
    throw new CannotRun(
      "Within this budget no certificate can be earned. Nothing was paid; raise --max-payouts and --max-total as shown above, or leave --sign out.",
    );
  }
  if (needsConsent(planned, options) && !given.yes) {
    throw new CannotRun(
      "This run pays on a target that is not loopback. Nothing was sent that pays; add --yes to go on.",
    );
  }
  try {
    makeFolder(given.reporting);
  } catch (error) {
    throw new CannotRun(`--report: ${(error as Error).message}`);
  }
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort());
  process.once("SIGTERM", () => interrupted.abort());
  const prism = given.throughPrism ? await startPrism(options.baseUrl) : undefined;
  const found = await run({ ...options, prismUrl: prism?.url }, process.stdout, interrupted.signal);
  prism?.stop();
  const { report, files, refusal, exitCode } = await writeReports(found, given.reporting, new Date());
  console.log(`\n${renderTerminal(report, { color: process.stdout.isTTY })}`);
  for (const line of secondOpinionLines(report)) console.log(line);
  console.log(`Written: ${files.join(", ")}`);
  if (refusal !== undefined) console.error(refusal);
  return exitCode;
}

const judged = (faults: readonly string[]) => faults.join(", ") || "sound";

/** What Prism thinks of the same answers. */
function secondOpinionLines({ secondOpinion }: Report): string[] {
  if (!secondOpinion) return [];
  const { answers, disagreements } = secondOpinion;
  return [
    `Prism looked at ${answers} answers and judges ${disagreements.length} of them differently.`,
    ...disagreements.slice(0, 5).map(({ exchange, suite, prism }) => {
      return oneLine(
        `  ${exchange.method} ${exchange.url} → ${exchange.status}: suite: ${judged(suite)}; Prism: ${judged(prism)}`,
      );
    }),
  ];
}

async function subcommand(name: Parameters<typeof runSubcommand>[0], args: readonly string[]): Promise<number> {
  const { exitCode, text } = await runSubcommand(name, [...args], new Date());
  (exitCode === 2 ? process.stderr : process.stdout).write(text);
  return exitCode;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(usage);
    return 0;
  }
  try {
    const [name, ...rest] = args;
    return isSubcommand(name) ? await subcommand(name, rest) : await certify(args);
  } catch (error) {
    if (error instanceof OptionsError) console.error(`${error.faults.join("\n")}\n\n--help shows every option.`);
    else if (error instanceof CannotRun || error instanceof NoPrism) console.error(error.message);
    else console.error(error);
    return 2;
  }
}

// A reader that has seen enough (`| head`) does not end the run: its report is still to be written.
process.stdout.on("error", () => undefined);
// The worker may still wait for an answer of the target: an interrupted run does not.
process.exit(await main(process.argv.slice(2)));
