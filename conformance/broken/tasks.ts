// Defines the tasks of the self-test and their results, as plain data that can be posted between threads.
import { scenarios } from "../merchants/client/scenarios.ts";
import { scenarios as toolScenarios } from "../merchants/tools/scenarios.ts";
import { brokenClients } from "./clients/broken.ts";
import { soundClients } from "./clients/sound.ts";
import { alarms as alarmsOf, breaches } from "./clients/trial.ts";
import { brokenTools } from "./tools/broken.ts";
import { mapOf } from "./tools/good.ts";
import { soundTools } from "./tools/sound.ts";
import { tryBroken, violations } from "./tools/trial.ts";
import { tryVariant } from "./receivers/trial.ts";
import { receiverVariants } from "./receivers/variants.ts";
import { tryModel } from "../model/trial.ts";
import { banks, missingFor, tryBank } from "./banks.ts";
import { tryFault, trySound, type Baseline } from "./catch.ts";
import { classes, findKillers } from "./classes.ts";
import { crossWith } from "./cross.ts";
import { faults } from "./faults.ts";
import { soundServers } from "./sound.ts";
import { limitedServers } from "./sound-limits.ts";
import type { Profile } from "../results.ts";

/**
 * The number of runs against the unmodified server, each with its own seed. Several runs are needed to detect flaky
 * checks.
 */
const soundRuns = 20;

export type Task = {
  kind: "broken" | "different" | "crossed" | "sound" | "model" | "bank" | "class" | "client" | "receiver" | "tools";
  id: string;
  /** The seed of the run against a sound server; undefined for the seed of all other runs. */
  seed?: number;
};

export const nameOf = ({ id, seed }: Task) => (seed === undefined ? id : `${id}, seed ${seed}`);
const seedArgs = ({ seed }: Task) => (seed === undefined ? [] : ["--seed", String(seed)]);

export type Row = Task & {
  ok: boolean;
  /** A description of the result: which checks caught the fault, or why the task failed. */
  text: string;
  ms: number;
};

const profiles: readonly Profile[] = ["core", "extended"];
const modelId = (profile: Profile) => `model-${profile}`;

/** The id of the task that puts a limited deployment in front of faults. */
const crossedId = ({ id }: { id: string }) => `crossed-${id}`;
/** The id of a task with a client. */
const clientId = ({ id }: { id: string }) => `client-${id}`;
/** The id of a task with a server of tools. */
const toolsId = ({ id }: { id: string }) => `tools-${id}`;
/** Each sound client, receiver and server of tools runs all scenarios with these seeds. */
const sideSeeds = [1, 2, 3];

const named = (kind: Task["kind"], ids: readonly string[]) => ids.map((id): Task => ({ kind, id }));

/** Returns each task once for each of the seeds from 1. */
const repeated = (all: readonly Task[], seeds: number): Task[] =>
  Array.from({ length: seeds }, (_, index) => all.map((task) => ({ ...task, seed: index + 1 }))).flat();

/**
 * Returns the tasks whose ids match. Long tasks come first, so that no long task runs alone at the end.
 * @param seeds the number of runs against each sound server and each bank and, if more than 1, each broken server
 */
export function tasks(pattern: RegExp, seeds: number): Task[] {
  const brokenOnes = named(
    "broken",
    faults.map(({ id }) => id),
  );
  const all = [
    ...repeated(
      [
        ...named(
          "different",
          soundServers.map(({ id }) => id),
        ),
        ...named("model", profiles.map(modelId)),
        ...named(
          "bank",
          banks.map(({ id }) => id),
        ),
      ],
      seeds,
    ),
    ...named("crossed", limitedServers.map(crossedId)),
    ...repeated(named("sound", ["sound-run"]), soundRuns),
    ...named("client", [...soundClients, ...brokenClients].map(clientId)),
    ...named(
      "receiver",
      receiverVariants.map(({ id }) => id),
    ),
    ...named("tools", [...soundTools, ...brokenTools].map(toolsId)),
    ...(seeds === 1 ? brokenOnes : repeated(brokenOnes, seeds)),
  ];
  return all.filter(({ id }) => pattern.test(id));
}

/** Returns the tasks for the classes of defects whose servers match. */
export const classTasks = (pattern: RegExp): Task[] =>
  named(
    "class",
    classes.map(({ id }) => id).filter((id) => pattern.test(id)),
  );

async function ofClass(task: Task): Promise<Row> {
  const found = classes.find(({ id }) => id === task.id);
  if (!found) throw new Error(`no class of faults has the broken server ${task.id}`);
  const { own, others, errors, ms } = await findKillers(found);
  const text = [
    found.defect,
    own.length > 0 ? `  caught only by ${own.join(", ")}` : "  MISSED",
    ...(others.length > 0 ? [`  ALSO CAUGHT BY ${others.join(", ")}`] : []),
    ...errors.map((error) => `  ${error}`),
  ];
  return { ...task, ok: own.length > 0 && others.length === 0 && errors.length === 0, text: text.join("\n"), ms };
}

async function broken(task: Task, baseline: Baseline): Promise<Row> {
  const fault = faults.find(({ id }) => id === task.id);
  if (!fault) throw new Error(`unknown broken server ${task.id}`);
  const { by, missed, also, errors, ms } = await tryFault(fault, baseline, { args: seedArgs(task) });
  const caught = Object.entries(by)
    .filter(([, checks]) => checks.length > 0)
    .map(([id, checks]) => `${id}: ${checks.join(", ")}`);
  const text = [
    fault.defect,
    ...caught.map((line) => `  caught by ${line}`),
    ...missed.map((id) => `  MISSED by ${id}`),
    ...(also.length > 0 ? [`  also failed: ${also.join(", ")}`] : []),
    ...errors.map((error) => `  ${error}`),
  ];
  return { ...task, ok: missed.length === 0 && errors.length === 0, text: text.join("\n"), ms };
}

async function different(task: Task): Promise<Row> {
  const server = soundServers.find(({ id }) => id === task.id);
  if (!server) throw new Error(`unknown sound server ${task.id}`);
  const { alarms, verdict, ms } = await trySound(
    { ...server, args: [...(server.args ?? []), ...seedArgs(task)] },
    "core",
    ["warn"],
  );
  const text = [server.differs, `  ${verdict} for core`, ...alarms.map((alarm) => `  ALARM ${alarm}`)];
  const isRight = verdict === (server.verdict ?? "certified");
  return { ...task, ok: isRight && alarms.length === 0, text: text.join("\n"), ms };
}

async function crossed(task: Task): Promise<Row> {
  const start = performance.now();
  const server = limitedServers.find((each) => crossedId(each) === task.id)!;
  const { shown, hidden } = await crossWith(server);
  const text = [`Faults behind a deployment: ${server.differs}`, `  ${shown}`, ...hidden.map((id) => `  HIDDEN ${id}`)];
  return { ...task, ok: hidden.length === 0, text: text.join("\n"), ms: Math.round(performance.now() - start) };
}

async function sound(task: Task): Promise<Row> {
  const { alarms, verdict, ms } = await trySound({ how: () => ({}), args: seedArgs(task) }, "extended");
  const text = ["The reference server.", `  ${verdict} for extended`, ...alarms.map((alarm) => `  ALARM ${alarm}`)];
  return { ...task, ok: verdict === "certified" && alarms.length === 0, text: text.join("\n"), ms };
}

async function model(task: Task): Promise<Row> {
  const start = performance.now();
  const profile = profiles.find((each) => modelId(each) === task.id) ?? "core";
  const { verdict, alarms } = await tryModel(profile, seedArgs(task));
  const text = [
    "The model of the service.",
    `  ${verdict} for ${profile}`,
    ...alarms.map((alarm) => `  ALARM ${alarm}`),
  ];
  return {
    ...task,
    ok: verdict === "certified" && alarms.length === 0,
    text: text.join("\n"),
    ms: Math.round(performance.now() - start),
  };
}

/** If the language of a bank is not installed, the bank counts as right, and its row says that it was not tried. */
async function bank(task: Task): Promise<Row> {
  const start = performance.now();
  const found = banks.find(({ id }) => id === task.id)!;
  const missing = missingFor(found);
  const wrong = missing === undefined ? await tryBank(found, seedArgs(task)) : [];
  const right = missing === undefined ? "the right verdict about races" : `NOT TRIED: ${missing}`;
  const text = wrong.length > 0 ? wrong.join("\n  ") : right;
  return { ...task, ok: wrong.length === 0, text, ms: Math.round(performance.now() - start) };
}

async function client(task: Task): Promise<Row> {
  const start = performance.now();
  const row = (ok: boolean, text: string): Row => ({ ...task, ok, text, ms: Math.round(performance.now() - start) });
  const faulty = brokenClients.find((each) => clientId(each) === task.id);
  if (faulty) {
    const { breaks } = faulty;
    const ids = await breaches(faulty);
    const isCaught = ids.has(breaks);
    return row(isCaught, `${isCaught ? "caught" : "MISSED"} by ${breaks}; failed: ${[...ids].join(", ")}`);
  }
  const { program } = soundClients.find((each) => clientId(each) === task.id)!;
  const found: string[] = [];
  for (const seed of sideSeeds) found.push(...(await alarmsOf(program, scenarios, seed)));
  return row(found.length === 0, ["A sound client.", ...found.map((alarm) => `  ALARM ${alarm}`)].join("\n"));
}

async function tools(task: Task): Promise<Row> {
  const start = performance.now();
  const row = (ok: boolean, text: string): Row => ({ ...task, ok, text, ms: Math.round(performance.now() - start) });
  const faulty = brokenTools.find((each) => toolsId(each) === task.id);
  if (faulty) {
    const { caught, wrong } = await tryBroken(faulty);
    const verdict = caught ? `caught by ${faulty.breaks}` : `MISSED by ${faulty.breaks}`;
    return row(caught && wrong.length === 0, [verdict, ...wrong.map((id) => `  WRONG CAUSE ${id}`)].join("\n"));
  }
  const { parts } = soundTools.find((each) => toolsId(each) === task.id)!;
  const found: string[] = [];
  for (const seed of sideSeeds) {
    for (const [id, alarms] of await violations(parts, mapOf(parts), toolScenarios, seed))
      found.push(`${id}: ${alarms[0]}`);
  }
  return row(found.length === 0, ["Sound tools.", ...found.map((alarm) => `  ALARM ${alarm}`)].join("\n"));
}

async function receiver(task: Task): Promise<Row> {
  const start = performance.now();
  const variant = receiverVariants.find(({ id }) => id === task.id)!;
  const { violates, does } = variant;
  const found: string[] = [];
  // A sound receiver runs all scenarios with each of the seeds.
  for (const seed of violates.length > 0 ? [1] : sideSeeds) {
    const { wrong, errors } = await tryVariant(variant, seed);
    found.push(...wrong.map((text) => `${violates.length > 0 ? "MISSED by" : "ALARM"} ${text}`), ...errors);
  }
  const verdict = violates.length > 0 ? `caught by ${violates.join(", ")}` : "no alarm";
  const text = [does, ...(found.length > 0 ? found : [verdict]).map((line) => `  ${line}`)].join("\n");
  return { ...task, ok: found.length === 0, text, ms: Math.round(performance.now() - start) };
}

/** Runs one task. Never throws: an error in the self-test itself is reported as a failed task. */
export async function carryOut(task: Task, baseline: Baseline): Promise<Row> {
  try {
    if (task.kind === "broken") return await broken(task, baseline);
    if (task.kind === "crossed") return await crossed(task);
    if (task.kind === "model") return await model(task);
    if (task.kind === "bank") return await bank(task);
    if (task.kind === "client") return await client(task);
    if (task.kind === "tools") return await tools(task);
    if (task.kind === "receiver") return await receiver(task);
    if (task.kind === "class") return await ofClass(task);
    return await (task.kind === "different" ? different(task) : sound(task));
  } catch (error) {
    return { ...task, ok: false, text: `  ERROR in the self-test: ${String(error)}`, ms: 0 };
  }
}
