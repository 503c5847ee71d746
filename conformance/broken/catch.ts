// Determines whether the suite catches a broken server, and certifies a sound one. A broken server is caught if each
// requirement that it violates gets the verdict for a violation at its level: `fail` for `must`, `warn` for `should`, and
// another observation for `observe`.
import { catalogue } from "../contract/requirements.ts";
import type { Profile, Report, Requirement, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { joined, type Fault } from "./fault.ts";
import { startBroken } from "./server.ts";
import type { SoundServer } from "./sound.ts";
import { optionsFor, runTrial, type Trial } from "./trial.ts";

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const levelOf = (id: string) => requirements.get(id)?.level;
const expected: Record<Requirement["level"], Verdict> = { must: "fail", should: "warn", observe: "observed" };

/** Returns a requirement's observations as one string. Equal behaviour gives equal strings. */
const observationsOf = (report: Report, id: string) =>
  JSON.stringify(
    report.observed.filter(({ requirement }) => requirement === id).map(({ name, value }) => [name, value]),
  );

/** The observations of the sound server, by requirement id. A broken server's must differ. */
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
function allFailed(ids: readonly string[]) {
  const open = new Set(ids);
  return ({ results }: CheckReport) => {
    for (const [id, { verdict }] of Object.entries(results)) {
      if (levelOf(id) !== "observe" && verdict === expected[levelOf(id) ?? "must"]) open.delete(id);
    }
    return open.size === 0;
  };
}

/** The result for one broken server. */
export type Catch = {
  /** For each violated requirement, the names of the checks that caught the fault; an empty array if no check did. */
  by: Record<string, string[]>;
  /** The violated requirements for which no check caught the fault. */
  missed: string[];
  /** Errors of the suite itself. */
  errors: string[];
};

/**
 * Starts a server with a fault and runs the checks that must catch the fault. Does so once for each profile in which
 * the fault violates a requirement.
 * @param knowsLimits true to run without the search for limits, as if they were known
 */
export async function tryFault(
  { how, violates, through }: Pick<Fault, "how" | "violates" | "through">,
  baseline: Baseline,
  { args = [], knowsLimits = false }: { args?: readonly string[]; knowsLimits?: boolean } = {},
): Promise<Catch> {
  const result: Catch = { by: {}, missed: [], errors: [] };
  for (const profile of ["core", "extended"] as const) {
    const ids = violates.filter((id) => requirements.get(id)?.profile === profile);
    if (ids.length === 0) continue;
    const choose: Trial["choose"] = (all) =>
      all.filter(({ phase, ids: own }) => !knowsLimits || phase !== "limits" || ids.some((id) => own.includes(id)));
    const server = await startBroken(how);
    try {
      const options = await optionsFor(server, ["--profile", profile, ...args]);
      const report = await runTrial(options, { only: ids, through, choose, enough: allFailed(ids) });
      for (const id of ids) result.by[id] = catchers(report, id, baseline);
      result.errors.push(...report.errors);
    } finally {
      await server.stop();
    }
  }
  result.missed = violates.filter((id) => !result.by[id]?.length);
  return result;
}

/** A fault that only some requirements catch. */
export type SoleCatch = Fault & Required<Pick<Fault, "onlyBy">>;

/**
 * The age from which a server treats a record as old. No check takes so long. Therefore only the checks at the end of
 * the run, after `lingerSeconds`, find old records.
 */
const oldAge = 30_000;
const lingerSeconds = 35;

/** Runs all checks of the profile against a server. Returns the requirements that failed, and the suite's own errors. */
export async function findKillers({ how, onlyBy: { profile } }: SoleCatch): Promise<string[]> {
  const server = await startBroken(how, oldAge);
  try {
    const report = await runTrial(await optionsFor(server, ["--profile", profile, "--linger", String(lingerSeconds)]));
    return [...report.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id), ...report.errors];
  } finally {
    await server.stop();
  }
}

type Deployment = Pick<SoundServer, "how" | "prefix" | "args" | "declared" | "verdict">;

/** Runs checks of a profile against a server. The caller provides everything that the checks need. */
export async function runAgainst(
  { how, prefix = "", args = [], declared }: Deployment,
  profile: Profile,
  trial?: Trial,
): Promise<Report> {
  const server = await startBroken(how);
  try {
    const provided = ["--effects", "money", "--recipient", "2257038102473", "--failing-recipient", "2250000000089"];
    const options = await optionsFor({ ...server, url: server.url + prefix }, [
      "--profile",
      profile,
      ...provided,
      ...args,
    ]);
    return await runTrial({ ...options, ...(declared ? { declared } : {}) }, trial);
  } finally {
    await server.stop();
  }
}

/**
 * Runs all checks of a profile against a sound server. Returns the verdict, and the requirements with a false alarm:
 * they failed, warned or could not be judged.
 * @param tolerated further verdicts that raise no alarm, such as `warn` for a server that deviates from a `should`
 */
export async function trySound(server: Deployment, profile: Profile, tolerated: readonly Verdict[] = []) {
  const { requirements: judged, errors, verdict } = await runAgainst(server, profile);
  const fine = new Set<Verdict>(["pass", "observed", "not-applicable", ...tolerated]);
  if (server.verdict === "error") fine.add("could-not-run");
  const alarms = judged
    .filter((requirement) => !fine.has(requirement.verdict))
    .map(({ id, checks }) => {
      const worst = checks.find((check) => !fine.has(check.verdict));
      return `${id}: expected ${worst?.expected}, got ${worst?.actual}`;
    });
  return { verdict, alarms: [...alarms, ...errors] };
}

/** Puts a sound deployment in front of a server with several faults. Returns the violated requirements that it hides. */
export async function hiddenBy(server: SoundServer, faults: readonly Fault[]): Promise<string[]> {
  const ids = faults.flatMap(({ violates }) => violates);
  const how = joined(server.how, ...faults.map((fault) => fault.how));
  const report = await runAgainst({ ...server, how }, "core", { only: ids, enough: allFailed(ids) });
  return report.requirements
    .filter(({ id, verdict, reason }) => {
      const isShown = ["fail", "could-not-run"].includes(verdict) || reason?.code === "caller";
      return ids.includes(id) && !isShown;
    })
    .map(({ id, verdict }) => `${id}: ${verdict}`);
}
