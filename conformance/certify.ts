// The entry point. The exit code is 0 if everything selected passed, 1 if something failed, and 2 if the suite could
// not do its work.
import { randomInt } from "node:crypto";
import { doctor } from "./cli/doctor.ts";
import { help } from "./cli/flags.ts";
import { init } from "./cli/init.ts";
import { OptionsError, readOptions } from "./cli/options.ts";
import { checksBeyondBudget, missingLines, needsConsent, planLines } from "./run/plan.ts";
import { checks as dreddChecks } from "./checks/dredd.ts";
import { NoDredd, requireDredd } from "./contract/dredd-parts.ts";
import { NoPrism } from "./contract/prism.ts";
import { thisMachine } from "./outside/outside.ts";
import { createRecording } from "./outside/recording.ts";
import { certifyClient } from "./merchants/client/command.ts";
import { certifyReceiver } from "./merchants/receiver/command.ts";
import { certifyTools } from "./merchants/tools/command.ts";
import { CannotRun, probe } from "./cli/probe.ts";
import { renderTerminal } from "./report/terminal.ts";
import { oneLine } from "./report/visible.ts";
import type { Report } from "./results.ts";
import { writeReports, makeFolder } from "./cli/reporting.ts";
import { exchangesOf, runChecks } from "./cli/recorded.ts";
import { plannedChecks } from "./run/run.ts";
import { isSubcommand, runSubcommand, unknownCommand } from "./cli/subcommands.ts";
import { complain, print } from "./report/print.ts";

/** The time limit of `certify doctor`, including the start of the process. */
const examinationMs = 9500;

const newSeed = () => randomInt(2 ** 31);

async function certify(args: readonly string[]): Promise<number> {
  const given = readOptions(args, process.env, newSeed);
  if (given.interactive && !process.stdin.isTTY) {
    throw new CannotRun(
      "--interactive needs a terminal, because a person must respond, but stdin is not one. Nothing was sent. " +
        "Run the command in a terminal, or leave the option out.",
    );
  }
  const interrupted = new AbortController();
  const recording = createRecording(thisMachine(interrupted.signal));
  const { outside } = recording;
  const options = await probe(given, outside);
  const planned = plannedChecks(options);
  for (const line of [...planLines(planned, options), ...missingLines(planned, options)]) print(line);
  if (planned.length === 0) {
    throw new CannotRun(
      `No check to run: --effects ${options.effects} excludes every check of the requirements in --only.`,
    );
  }
  if (planned.some((check) => dreddChecks.includes(check))) requireDredd();
  if (given.reporting.signing !== undefined && checksBeyondBudget(planned, options).length > 0) {
    throw new CannotRun(
      "This budget is too small to earn a certificate. Nothing was paid. Raise --max-payouts and --max-total as shown above, or omit --sign.",
    );
  }
  if (needsConsent(planned, options) && !given.yes) {
    throw new CannotRun(
      "This run creates payouts on a target that is not on loopback. Nothing was paid. Add --yes to confirm.",
    );
  }
  try {
    makeFolder(given.reporting);
  } catch (error) {
    throw new CannotRun(`--report: ${(error as Error).message}`);
  }
  process.once("SIGINT", () => interrupted.abort());
  process.once("SIGTERM", () => interrupted.abort());
  const { results, now } = await runChecks(given, options, process.stdout, outside);
  const exchanges = exchangesOf(recording, given, results);
  const { report, files, refusal, exitCode } = await writeReports(results, given.reporting, now, exchanges);
  console.log(`\n${renderTerminal(report, { color: process.stdout.isTTY })}`);
  for (const line of secondOpinionLines(report)) print(line);
  print(`Written: ${files.join(", ")}`);
  if (refusal !== undefined) complain(refusal);
  return exitCode;
}

const judgement = (faults: readonly string[]) => faults.join(", ") || "valid";

/** Describes the responses about which Prism and the suite disagree; no lines if the run did not use Prism. */
function secondOpinionLines({ secondOpinion }: Report): string[] {
  if (!secondOpinion) return [];
  const { answers, disagreements } = secondOpinion;
  return [
    `Prism validated ${answers} responses and disagrees with the suite about ${disagreements.length} of them.`,
    ...disagreements.slice(0, 5).map(({ exchange, suite, prism }) => {
      return oneLine(
        `  ${exchange.method} ${exchange.url} → ${exchange.status}: suite: ${judgement(suite)}; Prism: ${judgement(prism)}`,
      );
    }),
  ];
}

async function subcommand(name: Parameters<typeof runSubcommand>[0], args: readonly string[]): Promise<number> {
  const { exitCode, text } = await runSubcommand(name, [...args], new Date());
  (exitCode === 2 ? complain : print)(text.replace(/\n$/, ""));
  return exitCode;
}

async function examine(args: readonly string[]): Promise<number> {
  const options = readOptions(args, process.env, () => 1);
  // `performance.now()` counts from the start of the process.
  const overdue = AbortSignal.timeout(Math.max(0, examinationMs - Math.round(performance.now())));
  const { exitCode, text } = await doctor(options, overdue);
  print(text.replace(/\n$/, ""));
  return exitCode;
}

async function initialise(args: readonly string[]): Promise<number> {
  await init(args, process.env, newSeed, print);
  return 0;
}

async function main(args: readonly string[]): Promise<number> {
  const hasOwnHelp = ["client", "receiver", "tools"].includes(args[0] ?? "");
  if (!hasOwnHelp && (args.includes("--help") || args.includes("-h"))) {
    print(help);
    return 0;
  }
  try {
    const [name, ...rest] = args;
    if (name === "doctor") return await examine(rest);
    if (name === "init") return await initialise(rest);
    if (name === "client") return await certifyClient(rest, newSeed);
    if (name === "receiver") return await certifyReceiver(rest, newSeed);
    if (name === "tools") return await certifyTools(rest, process.env, newSeed);
    if (isSubcommand(name)) return await subcommand(name, rest);
    if (name !== undefined && /^\w/.test(name))
      throw new OptionsError([unknownCommand(name, ["doctor", "init", "client", "receiver", "tools"])]);
    return await certify(args);
  } catch (error) {
    if (error instanceof OptionsError) complain(`${error.faults.join("\n")}\n\nRun with --help to see every option.`);
    else if ([CannotRun, NoDredd, NoPrism].some((known) => error instanceof known)) complain((error as Error).message);
    else complain(error);
    return 2;
  }
}

// Ignore write errors: if a reader such as `| head` closes the pipe, the run must still write its report.
process.stdout.on("error", () => undefined);
// Exit explicitly, because after an interruption a check may still be waiting for a response.
process.exit(await main(process.argv.slice(2)));
