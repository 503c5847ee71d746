// Determines whether the suite catches a broken server: each requirement that the server violates must get the verdict
// for a violation at its level: `fail` for `must`, `warn` for `should`, and another observation for `observe`.
import type { Check } from "../check.ts";
import { catalogue } from "../contract/requirements.ts";
import type { Profile, Report, Requirement, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import type { Fault } from "./fault.ts";
import { startBroken } from "./server.ts";
import type { SoundServer } from "./sound-server.ts";
import { optionsFor, runTrial, type Trial } from "./trial.ts";

/** The result for one broken server. */
export type Catch = {
  fault: Fault;
  /** For each violated requirement, the names of the checks that caught the fault; an empty array if no check did. */
  by: Record<string, string[]>;
  /** The violated requirements for which no check caught the fault. */
  missed: string[];
  /** Requirements that failed although the fault does not list them. */
  also: string[];
  /** Errors of the suite itself. */
  errors: string[];
  ms: number;
};

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const levelOf = (id: string) => requirements.get(id)?.level;
const expected: Record<Requirement["level"], Verdict> = { must: "fail", should: "warn", observe: "observed" };

/** Returns a requirement's observations as one string. Equal behaviour gives equal strings. */
const observationsOf = (report: Report, id: string) =>
  JSON.stringify(
    report.observed.filter(({ requirement }) => requirement === id).map(({ name, value }) => [name, value]),
  );

/**
 * The observations of the sound server, by requirement id. A fault in observed behaviour is caught if the broken
 * server's observations differ.
 */
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

/** Returns the names of the checks that caught a violation of the requirement. */
function catchers(report: Report, id: string, baseline: Baseline): string[] {
  const result = report.requirements.find((requirement) => requirement.id === id);
  if (!result || result.verdict !== expected[result.level]) return [];
  if (result.level === "observe" && observationsOf(report, id) === baseline.get(id)) return [];
  return result.checks.filter(({ verdict }) => verdict === expected[result.level]).map(({ name }) => name);
}

/**
 * Returns a function to call with each check's report. It returns true once every one of these requirements has the
 * verdict for a violation. If one of them is an `observe` requirement, it never returns true, because observations are
 * compared after the run.
 */
export function allFailed(ids: readonly string[]) {
  const open = new Set(ids);
  return ({ results }: CheckReport) => {
    for (const [id, { verdict }] of Object.entries(results)) {
      if (levelOf(id) !== "observe" && verdict === expected[levelOf(id) ?? "must"]) open.delete(id);
    }
    return open.size === 0;
  };
}

/** How to run the suite against a broken server. */
type Manner = {
  /** Further arguments of the runs, such as a seed. */
  args?: readonly string[];
  /** True to run without the search for limits, as if they were known; requests then use ordinary values. */
  knowsLimits?: boolean;
};

async function tryProfile(fault: Fault, profile: Profile, ids: readonly string[], { args = [], knowsLimits }: Manner) {
  const server = await startBroken(fault.how);
  try {
    const options = await optionsFor(server, ["--profile", profile, ...args]);
    const choose = (all: Check[]) =>
      knowsLimits
        ? all.filter(({ phase, ids: judged }) => phase !== "limits" || ids.some((id) => judged.includes(id)))
        : all;
    return await runTrial(options, { only: ids, through: fault.through, choose, enough: allFailed(ids) });
  } finally {
    await server.stop();
  }
}

/**
 * Starts a server with a fault and runs the checks that must catch the fault. Does so once for each profile in which
 * the fault violates a requirement.
 */
export async function tryFault(fault: Fault, baseline: Baseline, manner: Manner = {}): Promise<Catch> {
  const start = performance.now();
  const result: Catch = { fault, by: {}, missed: [], also: [], errors: [], ms: 0 };
  for (const profile of ["core", "extended"] as const) {
    const ids = fault.violates.filter((id) => requirements.get(id)?.profile === profile);
    if (ids.length === 0) continue;
    const report = await tryProfile(fault, profile, ids, manner);
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
  /** The requirements with a false alarm, each with the reason: they failed, warned or could not be judged. */
  alarms: string[];
  verdict: Report["verdict"];
  ms: number;
};

/** Runs checks of a profile against a server. The caller provides everything that the checks need. */
export async function runAgainst(
  { how, prefix = "", args = [], declared }: Pick<SoundServer, "how" | "prefix" | "args" | "declared">,
  profile: Profile,
  trial?: Trial,
): Promise<Report> {
  const server = await startBroken(how);
  try {
    const provided = ["--recipient", "2257038102473", "--failing-recipient", "2250000000089"];
    const options = await optionsFor({ ...server, url: server.url + prefix }, [
      "--profile",
      profile,
      "--effects",
      "money",
      ...provided,
      ...args,
    ]);
    return await runTrial({ ...options, ...(declared ? { declared } : {}) }, trial);
  } finally {
    await server.stop();
  }
}

/**
 * Runs all checks of a profile against a sound server.
 * @param tolerated further verdicts that raise no alarm, such as `warn` for a server that deviates from a `should`
 */
export async function trySound(
  server: Pick<SoundServer, "how" | "prefix" | "args" | "declared" | "verdict">,
  profile: Profile,
  tolerated: readonly Verdict[] = [],
): Promise<Alarm> {
  const start = performance.now();
  const report = await runAgainst(server, profile);
  const fine = new Set<Verdict>([
    "pass",
    "observed",
    "not-applicable",
    ...(server.verdict === "error" ? ["could-not-run" as const] : []),
    ...tolerated,
  ]);
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
}
