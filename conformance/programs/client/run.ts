// Runs one scenario: starts the hostile service and the client, kills and restarts it, and has the result judged.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotRun } from "../../results.ts";
import { createRandom } from "../../generate/random.ts";
import type { ScenarioRun } from "../run.ts";
import { entries } from "./entries.ts";
import { judge, type Run } from "./judge.ts";
import type { Launch } from "../process-group.ts";
import { inputOf, readClaims, type Environment } from "./protocol.ts";
import type { Scenario } from "./scenario.ts";
import { startService, type HostileService } from "./service.ts";

export type Settings = {
  launch: Launch;
  seed: number;
  /** The time limit for one request that the client is told, in ms. */
  timeoutMs: number;
  /** How long one start of the program may take, in ms. */
  limitMs: number;
  /** How long the service is watched after the end of the program, in scenarios with `watched`, in ms. */
  watchMs?: number;
  /** Ends the programs when it is aborted. The findings of an aborted scenario are meaningless. */
  ended?: AbortSignal;
};

const defaultWatchMs = 10_000;

/** A random kill comes at most this long after the first request. */
const latestKillMs = 250;

/** The entries of a scenario that has none of its own. */
const defaultEntries = entries("success", "failed", "pending", "settles");

/** Starts a program for each environment with the same input, and waits for the end of all. */
async function runStart(
  service: HostileService,
  start: number,
  environments: readonly Environment[],
  input: string,
  { launch, limitMs, delayMs, ended: runEnded }: Settings & { delayMs: number },
): Promise<Run[]> {
  let stopped: "killed" | "overdue" | undefined;
  const stop = async (why: "killed" | "overdue") => {
    stopped ??= why;
    for (const { kill } of programs) kill();
    await Promise.all(programs.map(({ ended }) => ended));
  };
  service.kill = async ({ later }) => {
    if (later) setTimeout(() => void stop("killed"), delayMs);
    else await stop("killed");
  };
  const programs = environments.map((environment) => launch(environment, input));
  const timer = setTimeout(() => void stop("overdue"), limitMs);
  const endRun = () => void stop("killed");
  runEnded?.addEventListener("abort", endRun);
  const runs = programs.map(async ({ ended }): Promise<Run> => {
    const end = await ended;
    return { ...end, ...readClaims(end.stdout, stopped !== undefined), start, stopped };
  });
  const all = await Promise.all(runs);
  clearTimeout(timer);
  runEnded?.removeEventListener("abort", endRun);
  return all;
}

/** The exit codes of a shell for a command that cannot be executed, or is not found. */
const notStarted = new Set<number | null>([126, 127]);

/** @throws CannotRun if there is no program to judge */
function checkStarted(runs: readonly Run[], { calls }: HostileService) {
  const [first] = runs;
  if (calls.length > 0 || !first || !notStarted.has(first.code)) return;
  const reason = first.stderr.trim().split("\n").at(-1)!;
  throw new CannotRun(`The program could not be started: ${reason}. Check --command; nothing was judged.`);
}

/** A client that pays one entry after the other needs time for the attempts of each. */
const entriesInLimit = 6;

/**
 * Runs a scenario against a client and judges it.
 * @throws CannotRun if the client cannot be started
 */
export async function runScenario(scenario: Scenario, given: Settings): Promise<ScenarioRun> {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  const { entries: planned = defaultEntries } = scenario;
  // A start may take longer if many entries have faults of their own.
  const faulty = planned.filter(({ story }) => story).length;
  const settings = { ...given, limitMs: given.limitMs * Math.max(1, faulty / entriesInLimit) };
  const random = createRandom(settings.seed, `${scenario.id} key and kills`);
  const key = `key-${random(1e11, 9e11).toString(36)}-of-the-merchant`;
  const state = await mkdtemp(join(tmpdir(), "certify-client-"));
  const service = await startService(scenario, planned, { key, ...settings });
  const runs: Run[] = [];
  try {
    for (const [index, start] of (scenario.starts ?? [{}]).entries()) {
      if (settings.ended?.aborted) break;
      const environments: Environment[] = [];
      for (let worker = 0; worker < (start.workers ?? 1); worker += 1) {
        const folder = join(state, `${start.freshState ? index : 0}-${worker}`);
        await mkdir(folder, { recursive: true });
        environments.push({
          BASE_URL: service.url,
          API_KEY: key,
          TIMEOUT_MS: String(settings.timeoutMs),
          STATE_DIR: start.withoutState ? "" : folder,
        });
      }
      service.begin(start);
      const delayMs = random(0, latestKillMs);
      const ordered = start.reversed ? planned.toReversed() : planned;
      const input = inputOf(scenario.repeated ? [...ordered, ...ordered] : ordered);
      runs.push(...(await runStart(service, index, environments, input, { ...settings, delayMs })));
    }
    if (scenario.watched) {
      service.during = { creates: { process: "now", answer: "honest" } };
      const { ended: signal } = settings;
      await sleep(settings.watchMs ?? defaultWatchMs, undefined, signal && { signal }).catch(() => undefined);
    }
  } finally {
    await service.close();
    await rm(state, { recursive: true, force: true });
    // Read it only now: the last delay is measured in the turn after it.
    delays.disable();
  }
  checkStarted(runs, service);
  service.ledger.settle();
  return judge({ scenario, planned, service, runs, key, settings, heldUpMs: delays.max / 1e6 });
}
