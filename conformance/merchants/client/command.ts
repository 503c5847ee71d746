// Implements `certify client`, which judges a program that pays.
import { createInterface } from "node:readline";
import { helpOf, readFlags, refuse, repeatWords, whole, type Options } from "../../cli/flags.ts";
import { print } from "../../report/print.ts";
import { counted } from "../../report/words.ts";
import type { Report } from "../../results.ts";
import { createProgress, type Output } from "../../run/progress.ts";
import type { CheckReport } from "../../run/verdicts.ts";
import { isFailure, mostProgressLines, runSide, sideOptions, sideOptionsOf, type SideOptions } from "../command.ts";
import { scenarioReport, sideReport } from "../report.ts";
import { attacher } from "./attach.ts";
import { launcher } from "./launch.ts";
import { runScenario, type Settings } from "./run.ts";
import { scenarios } from "./scenarios.ts";

const side = "client";

/** The options of `certify client`. */
export const clientFlags = {
  command: { value: "CMD", meaning: "the shell command that starts the program" },
  attach: { meaning: "start the program yourself, for example in a debugger; needs one `--scenario`", repeat: false },
  timeout: {
    value: "MS",
    meaning: "time limit for a request that the program is told in `TIMEOUT_MS`",
    initial: "2000",
    read: whole(50, 60_000),
  },
  "time-limit": {
    value: "SECONDS",
    meaning: "how long one start of the program may take",
    initial: "120",
    read: whole(1, 3600),
  },
  jobs: {
    value: "N",
    meaning: "how many scenarios run at the same time",
    initial: "16",
    read: whole(1, 64),
    repeat: false,
  },
  ...sideOptions(side),
} as const satisfies Options;

/** What `certify client --help` says. */
export const clientHelp = `The suite plays the service on this machine, and no money moves.
PROTOCOL.md in the package says what the program must do, such as limit the size of a response and the time to read it.
The program gets BASE_URL, API_KEY, TIMEOUT_MS and STATE_DIR, and entries as JSON lines on stdin.
It writes a line {"reference": …, "outcome": "paid|failed|pending|refused|unknown"} for each to stdout.

${helpOf(clientFlags)}`;

const hour = 3_600_000;

export type ClientOptions = SideOptions &
  Omit<Settings, "launch"> & {
    /** The command line that starts the client; undefined if a person starts it. */
    command?: string;
    /** How many scenarios run at the same time. */
    jobs: number;
    /** The options, as shell words, that repeat the run. */
    repeatFlags: string[];
  };

const scenarioIds = scenarios.map(({ id }) => id);

/**
 * Reads the options of `certify client`.
 * @throws OptionsError with every fault found
 */
export function readClientOptions(args: readonly string[], newSeed: () => number): ClientOptions {
  const { values, given, faults } = readFlags(args, clientFlags);
  const { command, attach } = values;
  if ((command === undefined) === !attach) {
    faults.push("give the client with --command CMD, or start it by hand with --attach");
  }
  const options: ClientOptions = {
    ...sideOptionsOf(side, values, scenarioIds, newSeed, faults),
    ...(command === undefined ? {} : { command }),
    timeoutMs: values.timeout,
    limitMs: attach ? hour : values["time-limit"] * 1000,
    jobs: attach ? 1 : values.jobs,
    repeatFlags: [...(attach ? ["--command", "CMD"] : []), ...repeatWords(clientFlags, given)],
  };
  if (attach && options.scenarios?.length !== 1) {
    faults.push("--attach needs one --scenario ID, because you start the client yourself");
  }
  refuse(faults);
  return options;
}

/** Runs the scenarios, several at a time, and returns their reports in the order in which they end. */
async function runAll(settings: Settings, options: ClientOptions, output: Output, interrupted: AbortSignal) {
  const selected = scenarios.filter(({ id }) => options.scenarios?.includes(id) ?? true);
  const progress = createProgress(output, selected.length, { mostLines: mostProgressLines });
  const reports: CheckReport[] = [];
  const waiting = [...selected];
  const enough = new AbortController();
  const ended = AbortSignal.any([interrupted, enough.signal]);
  const work = async () => {
    for (let next = waiting.shift(); next && !ended.aborted; next = waiting.shift()) {
      const name = `${next.id}: ${next.name}`;
      progress.started(name);
      const found = await runScenario(next, { ...settings, ended });
      if (ended.aborted) return;
      const report = scenarioReport(side, found, options.only);
      progress.finished(name, report);
      reports.push(report);
      if (options.failFast && isFailure(report)) enough.abort();
    }
  };
  // If a scenario cannot run, the others end too.
  await Promise.all(Array.from({ length: options.jobs }, work)).finally(() => enough.abort());
  progress.ended();
  return reports;
}

/** Judges a client and returns the report. `interrupted` ends the run early. */
export async function judgeClient(
  options: ClientOptions,
  launch: Settings["launch"],
  output: Output,
  interrupted: AbortSignal,
): Promise<Report> {
  const { command, only, seed, challenge, scenarios: chosen, timeoutMs, limitMs, repeatFlags } = options;
  const startedAt = new Date();
  const settings: Settings = { launch, seed, timeoutMs, limitMs };
  output.write(
    "Some response bodies never end: the program needs a limit of their size, and of the time to read them.\n",
  );
  const found = await runAll(settings, options, output, interrupted);
  const leftOut = scenarios.length - found.length;
  return sideReport({
    side,
    target: command ?? "a client started by hand",
    ...(only ? { only } : {}),
    seed,
    ...(challenge === undefined ? {} : { challenge }),
    waits: { responseMs: timeoutMs },
    repeatFlags,
    ...(leftOut > 0 && !interrupted.aborted
      ? { leftOut: `${counted(leftOut, "scenario")} that ${chosen ? "--scenario" : "--fail-fast"} leaves out` }
      : {}),
    scenarios: found,
    errors: interrupted.aborted ? ["The run was interrupted."] : [],
    startedAt,
    finishedAt: new Date(),
  });
}

function openTerminal() {
  const terminal = createInterface({ input: process.stdin });
  // The iterator keeps lines that come early, and ends with the input.
  const lines = terminal[Symbol.asyncIterator]();
  const enter = async () => void (await lines.next());
  return { print, enter, close: () => terminal.close() };
}

/** Runs `certify client` and returns its exit code. */
export async function certifyClient(args: readonly string[], newSeed: () => number): Promise<0 | 1 | 2> {
  const options = readClientOptions(args, newSeed);
  return runSide(options.reporting, (interrupted) => {
    const { command } = options;
    if (command !== undefined) return judgeClient(options, launcher(command), process.stdout, interrupted);
    const terminal = openTerminal();
    return judgeClient(options, attacher(terminal), process.stdout, interrupted).finally(terminal.close);
  });
}
