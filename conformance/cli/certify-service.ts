// Runs the checks against a service: `certify` without a command.
import { suiteSha256 } from "../certificate/hashes.ts";
import { checks as dreddChecks } from "../topics/dredd/checks.ts";
import { requireDredd } from "../contract/dredd.ts";
import { thisMachine, type Outside } from "../recording/outside.ts";
import { createRecording } from "../recording/recording.ts";
import { packed } from "../recording/tape.ts";
import { print } from "../report/visible.ts";
import { CannotRun, type Report } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import { checksBeyondBudget, missingLines, obstacleTo, planLines } from "../run/plan.ts";
import type { Output } from "../run/progress.ts";
import { plannedChecks, run } from "../run/run.ts";
import { areUnusual } from "../target/redact.ts";
import { readOptions, type CertifyOptions } from "./options.ts";
import { probe } from "./probe.ts";
import { createInterruption, makeFolder, publish } from "./reporting.ts";

/**
 * Certifies a service and returns the exit code.
 * @throws OptionsError if an option is invalid
 * @throws CannotRun if nothing can be judged
 */
export async function certifyService(args: readonly string[], newSeed: () => number): Promise<number> {
  const given = readOptions(args, process.env, newSeed);
  if (given.interactive && !process.stdin.isTTY) {
    throw new CannotRun(
      "--interactive needs a terminal, because a person must respond, but stdin is not a terminal. Nothing was sent. " +
        "Run the command in a terminal, or leave the option out.",
    );
  }
  const { interrupted, listen, unlisten } = createInterruption();
  const machine = thisMachine(interrupted);
  try {
    return await certify(given, machine, listen);
  } finally {
    unlisten();
    await machine.close();
  }
}

async function certify(given: CertifyOptions, machine: Outside, listen: () => void): Promise<number> {
  const recording = createRecording(machine);
  const { outside } = recording;
  const options = await probe(given, outside);
  const planned = plannedChecks(options);
  for (const line of [...planLines(planned, options), ...missingLines(planned, options)]) print(line);
  const obstacle = obstacleTo(planned, options, given.yes);
  if (obstacle !== undefined) throw new CannotRun(obstacle);
  if (planned.some((check) => dreddChecks.includes(check))) requireDredd();
  if (given.reporting.sign !== undefined && checksBeyondBudget(planned, options).length > 0) {
    throw new CannotRun(
      "This budget is too small to earn a certificate. Nothing was paid. Raise --max-payouts and --max-total as shown above, or omit --sign.",
    );
  }
  makeFolder(given.reporting);
  listen();
  const { results, now } = await runChecks(given, options, process.stdout, outside);
  return publish(results, given.reporting, now, exchangesOf(recording, given, results));
}

/** Runs the checks, through Prism if the caller asked for it. Returns the results and the time at which they are reported. */
export async function runChecks(given: CertifyOptions, options: RunOptions, output: Output, outside: Outside) {
  const prism = given.throughPrism ? await outside.startPrism(options.baseUrl) : undefined;
  const results = await run({ ...options, prismUrl: prism?.url }, output, outside);
  prism?.stop();
  return { results, now: outside.now() };
}

/** Returns the content of the exchanges file; undefined if a key is too ordinary to hide in it. */
export function exchangesOf(recording: ReturnType<typeof createRecording>, given: CertifyOptions, results: Report) {
  if (!areUnusual(given)) return undefined;
  const { reporting, tls: _, ...kept } = given;
  const { baseline, watched } = reporting;
  const ranges = [given.declared, results.foundLimits].flatMap((limits) => limits?.numberRanges ?? []);
  const { lines, options } = recording.finish(kept, ranges);
  const start = { format: "certify exchanges 1", suite: suiteSha256(), options, baseline, watched } as const;
  return packed({ start, lines });
}
