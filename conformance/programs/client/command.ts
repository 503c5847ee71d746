// Implements `certify client`, which judges a program that pays.
import { createReader, OptionsError, parseFlags } from "../../cli/options.ts";
import type { Report } from "../../results.ts";
import type { Output } from "../../run/progress.ts";
import { quoted } from "../../target/shell.ts";
import { judgeProgram, readSideOptions, runSide, sideFlags, sideUsage, type SideOptions } from "../command.ts";
import { idsOf } from "./judge.ts";
import { launcher } from "./launch.ts";
import { runScenario, type Settings } from "./run.ts";
import { scenarios } from "./scenarios.ts";

const side = "client";

/** The options of `certify client`, in the form that `parseArgs` of node:util expects. */
export const clientFlags = {
  ...sideFlags,
  command: { type: "string" },
  timeout: { type: "string", default: "2000" },
  "time-limit": { type: "string", default: "120" },
  jobs: { type: "string", default: "16" },
} as const;

/** The text that `certify client --help` prints. */
export const clientUsage = `Usage: certify client --command CMD [options]

Judges a program that pays. The suite plays the service on this machine, and no money moves.
PROTOCOL.md in the package says what the program must do, such as limit the size of a response and the time to read it.
The program gets BASE_URL, API_KEY, TIMEOUT_MS and STATE_DIR, and entries as JSON lines on stdin.
It writes a line {"reference": …, "outcome": "paid|failed|pending|refused|unknown"} for each to stdout.

  --command CMD               the shell command that starts the program
  --timeout MS                time limit for a request that the program is told (default: 2000)
  --time-limit SECONDS        how long one start of the program may take (default: 120)
  --jobs N                    how many scenarios run at the same time (default: 16)
${sideUsage(side)}`;

export type ClientOptions = SideOptions &
  Pick<Settings, "timeoutMs" | "limitMs"> & {
    /** The command line that starts the client. */
    command: string;
    /** How many scenarios run at the same time. */
    jobs: number;
  };

const scenarioIds = scenarios.map(({ id }) => id);

/**
 * Reads the options of `certify client`.
 * @throws OptionsError with every fault found
 */
export function readClientOptions(args: readonly string[], newSeed: () => number): ClientOptions {
  const values = parseFlags(args, clientFlags);
  const faults: string[] = [];
  const read = createReader(faults);
  const { command = "" } = values;
  if (command === "") faults.push("give the client with --command CMD");
  const options: ClientOptions = {
    ...readSideOptions(side, values, scenarioIds, newSeed, faults),
    command,
    timeoutMs: read.whole("timeout", values.timeout, 50, 60_000),
    limitMs: read.whole("time-limit", values["time-limit"], 1, 3600) * 1000,
    jobs: read.whole("jobs", values.jobs, 1, 64),
  };
  if (faults.length > 0) throw new OptionsError(faults);
  return options;
}

/** Judges a client and returns the report. `interrupted` ends the run early. */
export async function judgeClient(
  options: ClientOptions,
  launch: Settings["launch"],
  output: Output,
  interrupted: AbortSignal,
): Promise<Report> {
  const { command, seed, timeoutMs, limitMs, jobs } = options;
  output.write(
    "Some response bodies never end: the program needs a limit of their size, and of the time to read them.\n",
  );
  return judgeProgram({
    side,
    target: command,
    scenarios: scenarios.map((scenario) => ({ ...scenario, ids: idsOf(scenario) })),
    jobs,
    options,
    waits: { responseMs: timeoutMs },
    repeatFlags: ["--command", quoted(command)],
    run: (scenario, ended) => runScenario(scenario, { launch, seed, timeoutMs, limitMs, ended }),
    output,
    interrupted,
  });
}

/** Runs `certify client` and returns its exit code. */
export async function certifyClient(args: readonly string[], newSeed: () => number): Promise<0 | 1 | 2> {
  const options = readClientOptions(args, newSeed);
  return runSide(options.reporting, (interrupted) =>
    judgeClient(options, launcher(options.command), process.stdout, interrupted),
  );
}
