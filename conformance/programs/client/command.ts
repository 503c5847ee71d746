// Implements `certify client`, which judges a program that pays.
import { helpOf, readFlags, repeatWords, whole, type Options } from "../../cli/flags.ts";
import type { Report } from "../../results.ts";
import type { Output } from "../../run/progress.ts";
import { runSide, sideOptions, sideOptionsOf } from "../command.ts";
import { judgeProgram } from "../run.ts";
import { startGroup, type Launch } from "../process-group.ts";
import { runScenario } from "./run.ts";
import { scenarios } from "./scenarios.ts";

/** The options of `certify client`. */
export const clientFlags = {
  command: {
    value: "CMD",
    meaning: "the shell command that starts the program",
    required: "give the client with --command CMD",
  },
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
  ...sideOptions("client"),
} as const satisfies Options;

/** What `certify client --help` says. */
export const clientHelp = `The suite plays the service on this machine, and no money moves.
PROTOCOL.md in the package says what the program must do, such as limit the size of a response and the time to read it.
The program gets BASE_URL, API_KEY, TIMEOUT_MS and STATE_DIR, and entries as JSON lines on stdin.
It writes a line {"reference": …, "outcome": "paid|failed|pending|refused|unknown"} for each to stdout.

${helpOf(clientFlags)}`;

/**
 * Reads the options of `certify client`.
 * @throws OptionsError with every fault found
 */
export function readClientOptions(args: readonly string[], newSeed: () => number) {
  const { values, given, faults } = readFlags(args, clientFlags);
  return {
    ...values,
    ...sideOptionsOf("client", values, scenarios, newSeed, faults),
    timeoutMs: values.timeout,
    limitMs: values["time-limit"] * 1000,
    repeatFlags: repeatWords(clientFlags, given),
  };
}
type ClientOptions = ReturnType<typeof readClientOptions>;

/** Judges a client and returns the report. `interrupted` ends the run early. */
export async function judgeClient(options: ClientOptions, output: Output, interrupted: AbortSignal): Promise<Report> {
  const { command, seed, timeoutMs, limitMs, jobs, repeatFlags } = options;
  const launch: Launch = (environment, input) => startGroup(command, environment, input);
  output.write(
    "Some response bodies never end: the program needs a limit of their size, and of the time to read them.\n",
  );
  return judgeProgram({
    side: "client",
    target: command,
    scenarios,
    jobs,
    options,
    waits: { responseMs: timeoutMs },
    repeatFlags,
    run: (scenario, ended) => runScenario(scenario, { launch, seed, timeoutMs, limitMs, ended }),
    output,
    interrupted,
  });
}

/** Runs `certify client` and returns its exit code. */
export async function certifyClient(args: readonly string[], newSeed: () => number): Promise<0 | 1 | 2> {
  const options = readClientOptions(args, newSeed);
  return runSide(options, (interrupted) => judgeClient(options, process.stdout, interrupted));
}
