// Implements `certify tools`, which judges tools with which agents pay.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { helpOf, OptionsError, readFlags, refuse, whole, type Options } from "../../cli/flags.ts";
import { print } from "../../report/print.ts";
import { counted } from "../../report/words.ts";
import type { Report } from "../../results.ts";
import { createProgress, type Output } from "../../run/progress.ts";
import type { CheckReport } from "../../run/verdicts.ts";
import { quoted } from "../../target/shell.ts";
import { isFailure, mostProgressLines, runSide, sideOptions, sideOptionsOf, type SideOptions } from "../command.ts";
import { scenarioReport, sideReport } from "../report.ts";
import { opener, type Open } from "./host.ts";
import { propose, renderMap } from "./init.ts";
import { readMap, type ToolMap } from "./map.ts";
import { listTools, runScenario, type Settings } from "./run.ts";
import { scenarios } from "./scenarios.ts";

const side = "tools";

/** The options of `certify tools`. */
export const toolsFlags = {
  command: { value: "CMD", meaning: "the shell command that starts the server" },
  url: { value: "URL", meaning: "the server's URL for streamable HTTP" },
  port: { value: "PORT", meaning: "the port of the service, for a server that you started", read: whole(1, 65_535) },
  map: { value: "FILE", meaning: "the map of the tools", initial: "./tools.yaml" },
  init: { meaning: "propose the map, and write it to its file" },
  timeout: { value: "MS", meaning: "time limit for a request", initial: "2000", read: whole(50, 60_000) },
  "time-limit": { value: "SECONDS", meaning: "time limit for a call", initial: "60", read: whole(1, 3600) },
  jobs: { value: "N", meaning: "how many scenarios run at the same time", initial: "8", read: whole(1, 64) },
  ...sideOptions(side),
} as const satisfies Options;

/** What `certify tools --help` says. */
export const toolsHelp = helpOf(toolsFlags);

export type ToolsOptions = SideOptions & {
  command?: string;
  url?: string;
  mapFile: string;
  timeoutMs: number;
  limitMs: number;
  jobs: number;
  init: boolean;
  fixed?: Settings["fixed"];
};

/**
 * Reads the options of `certify tools`.
 * @throws OptionsError with every fault found
 */
export function readToolsOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  newSeed: () => number,
): ToolsOptions {
  const { values, faults } = readFlags(args, toolsFlags);
  const { command, url, port, init, map: mapFile } = values;
  if (command === undefined && (url === undefined || port === undefined))
    faults.push(
      "give the server of tools with --command CMD, or one that you have started with --url URL and --port PORT",
    );
  if (command !== undefined && port !== undefined) faults.push("--port is for a server that you have started yourself");
  if (url !== undefined && !URL.canParse(url.replace("$PORT", "80"))) faults.push("--url must be a URL");
  const { API_KEY: key } = env;
  if (port !== undefined && !key) faults.push("API_KEY must be the key with which you have started the server");
  const scenarioIds = scenarios.map(({ id }) => id);
  const options: ToolsOptions = {
    ...sideOptionsOf(side, values, scenarioIds, newSeed, faults),
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
    mapFile,
    init,
    timeoutMs: values.timeout,
    limitMs: values["time-limit"] * 1000,
    jobs: port === undefined ? values.jobs : 1,
    ...(port === undefined ? {} : { fixed: { port: port, key: key ?? "" } }),
  };
  refuse(faults);
  return options;
}

/**
 * The scenarios that a run can judge. A run does not kill a server that a person started, and the server's sum of the
 * day may not be empty.
 */
const possible = ({ fixed }: ToolsOptions) =>
  scenarios.filter(({ needs = [] }) => !fixed || !needs.some((need) => need === "kill" || need === "day"));

/** Judges tools and returns the report. `interrupted` ends the run early. */
export async function judgeTools(
  options: ToolsOptions,
  map: ToolMap,
  open: Open,
  output: Output,
  interrupted: AbortSignal,
): Promise<Report> {
  const { command, url, only, seed, challenge, timeoutMs, scenarios: chosen, jobs, failFast, fixed } = options;
  const startedAt = new Date();
  const settings: Settings = { open, map, seed, timeoutMs, ...(fixed ? { fixed } : {}) };
  let waiting = possible(options).filter(({ id }) => chosen?.includes(id) ?? true);
  const progress = createProgress(output, waiting.length, { mostLines: mostProgressLines });
  const found: CheckReport[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next && !interrupted.aborted; next = waiting.shift()) {
      const name = `${next.id}: ${next.name}`;
      progress.started(name);
      const report = scenarioReport(side, await runScenario(next, settings), only);
      progress.finished(name, report);
      found.push(report);
      if (failFast && isFailure(report)) waiting = [];
    }
  };
  // If a scenario cannot run, no other one starts.
  await Promise.all(Array.from({ length: jobs }, work)).finally(() => (waiting = []));
  progress.ended();
  const leftOut = scenarios.length - found.length;
  const why = chosen ? "--scenario leaves" : fixed ? "a server that you started yourself leaves" : "--fail-fast leaves";
  return sideReport({
    side,
    target: command ?? url!,
    ...(only ? { only } : {}),
    seed,
    ...(challenge === undefined ? {} : { challenge }),
    waits: { responseMs: timeoutMs },
    repeatFlags: [
      ...(command === undefined ? [] : ["--command", quoted(command)]),
      ...(url === undefined ? [] : ["--url", quoted(url)]),
      ...(fixed === undefined ? [] : ["--port", String(fixed.port)]),
      "--map",
      quoted(options.mapFile),
    ],
    ...(leftOut > 0 && !interrupted.aborted ? { leftOut: `${counted(leftOut, "scenario")} that ${why} out` } : {}),
    scenarios: found,
    errors: interrupted.aborted ? ["The run was interrupted."] : [],
    startedAt,
    finishedAt: new Date(),
  });
}

/** Writes the proposed map to its file. */
async function initialise({ mapFile }: ToolsOptions, open: Open): Promise<void> {
  if (existsSync(mapFile)) throw new OptionsError([`${mapFile} exists already; --init never overwrites a file`]);
  const tools = await listTools(open);
  writeFileSync(mapFile, renderMap(propose(tools)));
  print(`Written: ${mapFile}, for ${counted(tools.length, "tool")}. Check every line of it.`);
}

/** Runs `certify tools` and returns its exit code. */
export async function certifyTools(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  newSeed: () => number,
): Promise<0 | 1 | 2> {
  const options = readToolsOptions(args, env, newSeed);
  const { command, url, limitMs, mapFile } = options;
  const open = opener({ command, url, token: env["TOOLS_TOKEN"], limitMs });
  if (options.init) {
    await initialise(options, open);
    return 0;
  }
  if (!existsSync(mapFile)) {
    throw new OptionsError([
      `${mapFile} does not exist: add --init, which proposes it, or name another file with --map`,
    ]);
  }
  const map = readMap(readFileSync(mapFile, "utf8"), mapFile);
  return runSide(options.reporting, (interrupted) => judgeTools(options, map, open, process.stdout, interrupted));
}
