// Determines whether the suite catches a broken server: each requirement it violates must get the verdict of its level.
import { catalogue } from "../contract/requirements.ts";
import type { Profile, Report, Requirement, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import type { Fault } from "./fault.ts";
import { startBroken } from "./server.ts";
import type { SoundServer } from "./sound.ts";
import { optionsFor, runTrial } from "./trial.ts";

/** The result for one broken server. */
export type Catch = {
  fault: Fault;
  /** The checks that caught it, by requirement id; empty if it was missed. */
  by: Record<string, string[]>;
  missed: string[];
  /** Other requirements that failed in the same checks. */
  also: string[];
  /** Errors of the suite itself. */
  errors: string[];
  ms: number;
};

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const levelOf = (id: string) => requirements.get(id)?.level;
const expected: Record<Requirement["level"], Verdict> = { must: "fail", should: "warn", observe: "observed" };

/** A requirement's observations as one string, equal for equal behaviour. */
const observationsOf = (report: Report, id: string) =>
  JSON.stringify(
    report.observed.filter(({ requirement }) => requirement === id).map(({ name, value }) => [name, value]),
  );

/** Observations of the sound server, by requirement id: a fault in observed behaviour must differ from these. */
export type Baseline = ReadonlyMap<string, string>;

export async function observeSound(): Promise<Baseline> {
  const ids = catalogue.filter(({ level }) => level === "observe").map(({ id }) => id);
  const server = await startBroken();
  try {
    const report = await runTrial(await optionsFor(server, ["--profile", "core"]), { only: ids });
    return new Map(ids.map((id) => [id, observationsOf(report, id)]));
  } finally {
    await server.stop();
  }
}

/** The checks that caught a fault. For an `observe` requirement the observation must differ from the sound server's. */
function catchers(report: Report, id: string, baseline: Baseline): string[] {
  const result = report.requirements.find((requirement) => requirement.id === id);
  if (!result || result.verdict !== expected[result.level]) return [];
  if (result.level === "observe" && observationsOf(report, id) === baseline.get(id)) return [];
  return result.checks.filter(({ verdict }) => verdict === expected[result.level]).map(({ name }) => name);
}

/** Returns a function that takes each check's report and returns true once all of these requirements have failed. */
function allFailed(ids: readonly string[]) {
  const open = new Set(ids);
  return ({ results }: CheckReport) => {
    for (const [id, { verdict }] of Object.entries(results)) {
      if (levelOf(id) !== "observe" && verdict === expected[levelOf(id) ?? "must"]) open.delete(id);
    }
    return open.size === 0;
  };
}

async function tryProfile(fault: Fault, profile: Profile, ids: readonly string[]): Promise<Report> {
  const server = await startBroken(fault.how);
  try {
    const options = await optionsFor(server, ["--profile", profile]);
    return await runTrial(options, { only: ids, through: fault.through, enough: allFailed(ids) });
  } finally {
    await server.stop();
  }
}

/** Starts a broken server and runs the checks that must catch it, once for each profile that it violates. */
export async function tryFault(fault: Fault, baseline: Baseline): Promise<Catch> {
  const start = performance.now();
  const result: Catch = { fault, by: {}, missed: [], also: [], errors: [], ms: 0 };
  for (const profile of ["core", "extended"] as const) {
    const ids = fault.violates.filter((id) => requirements.get(id)?.profile === profile);
    if (ids.length === 0) continue;
    const report = await tryProfile(fault, profile, ids);
    for (const id of ids) result.by[id] = catchers(report, id, baseline);
    const others = report.requirements.filter(({ id, verdict }) => verdict === "fail" && !fault.violates.includes(id));
    result.also.push(...others.map(({ id }) => id));
    result.errors.push(...report.errors);
  }
  result.missed = fault.violates.filter((id) => !result.by[id]?.length);
  result.also = [...new Set(result.also)];
  result.ms = Math.round(performance.now() - start);
  return result;
}

/** The result of one run against a sound server. */
export type Alarm = {
  /** Requirements that failed, warned or could not be judged although the server is sound, with the reason. */
  alarms: string[];
  verdict: Report["verdict"];
  ms: number;
};

/**
 * Runs all checks of a profile against a sound server.
 * @param tolerated verdicts that raise no alarm: a sound server may deviate from a `should` and get a warning
 */
export async function trySound(
  { how, prefix = "" }: Pick<SoundServer, "how" | "prefix">,
  profile: Profile,
  tolerated: readonly Verdict[] = [],
): Promise<Alarm> {
  const start = performance.now();
  const server = await startBroken(how);
  try {
    const url = server.url + prefix;
    const options = await optionsFor({ ...server, url }, ["--profile", profile, "--effects", "money"]);
    const report = await runTrial(options);
    const fine = new Set<Verdict>(["pass", "observed", "not-applicable", ...tolerated]);
    const alarms = report.requirements
      .filter(({ verdict }) => !fine.has(verdict))
      .map(({ id, checks }) => {
        const worst = checks.find(({ verdict }) => !fine.has(verdict));
        return `${id}: expected ${worst?.expected}, got ${worst?.actual}`;
      });
    return {
      alarms: [...alarms, ...report.errors],
      verdict: report.verdict,
      ms: Math.round(performance.now() - start),
    };
  } finally {
    await server.stop();
  }
}
