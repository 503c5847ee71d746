// Tries clients within this process on the scenarios of `certify client`.
import { Readable } from "node:stream";
import { crossedWith } from "../../programs/client/crossed.ts";
import { runScenario } from "../../programs/client/run.ts";
import type { Scenario } from "../../programs/client/scenario.ts";
import { scenarios } from "../../programs/client/scenarios.ts";
import { scenarioReport } from "../../programs/run.ts";
import type { brokenClients } from "./broken.ts";
import { inProcess, type Program } from "./host.ts";

/** Long enough that a busy machine does not make a client give up on a response. */
const timeoutMs = 10_000;
/** The time limit for scenarios in which responses are missing or never end. */
const shortTimeoutMs = 4000;

const isWithoutEnd = (scenario: Scenario) => /"(silence|drip|endless)"/.test(JSON.stringify(scenario));

/** The limit for clients whose fault is that they do not end. */
const endlessLimitMs = 3000;

/** Runs a scenario against a client and returns what failed, or could not be judged. */
async function failuresOf(scenario: Scenario, program: Program, limitMs = 120_000) {
  const run = await runScenario(scenario, {
    launch: inProcess(program),
    seed: 1,
    timeoutMs: isWithoutEnd(scenario) ? shortTimeoutMs : timeoutMs,
    limitMs,
    watchMs: 1000,
  });
  const { results } = scenarioReport("client", scenario, run);
  return Object.entries(results)
    .filter(([, { verdict }]) => verdict !== "pass")
    .map(([id, { actual }]) => ({ id, actual }));
}

/**
 * Returns the scenarios with these ids. A value of a crossed row, such as `then-422`, names scenarios that consist of
 * the rows with this value.
 */
function scenariosNamed(ids: readonly string[]): Scenario[] {
  return ids.flatMap((id) => {
    const found = scenarios.filter((each) => each.id === id);
    const all = found.length > 0 ? found : crossedWith(id);
    if (all.length === 0) throw new Error(`there is no scenario ${id}`);
    return all;
  });
}

/** Returns the requirements that a broken client fails in the scenarios that must show its fault. */
export async function breaches({
  program,
  breaks,
  scenarios: ids,
}: (typeof brokenClients)[number]): Promise<Set<string>> {
  const limitMs = breaks === "client.bounded-time" ? endlessLimitMs : undefined;
  const all = await Promise.all(scenariosNamed(ids).map((scenario) => failuresOf(scenario, program, limitMs)));
  return new Set(all.flat().map(({ id }) => id));
}

/** Returns the alarms that a client raises in scenarios. */
export async function alarms(program: Program, chosen: readonly Scenario[]): Promise<string[]> {
  const tried = Readable.from(chosen).flatMap(
    async (scenario: Scenario) => {
      const failures = await failuresOf(scenario, program);
      return failures.map(({ id, actual }) => `${scenario.id}: ${id}: ${actual}`);
    },
    { concurrency: 16 },
  );
  return (await tried.toArray()) as string[];
}
