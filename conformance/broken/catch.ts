// Whether the suite catches a broken server: by the checks of the requirements that it breaks, one verdict for each.
import { catalogue } from "../contract/requirements.ts";
import type { Profile, Report, Requirement, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import type { Fault } from "./fault.ts";
import { startBroken } from "./server.ts";
import type { SoundServer } from "./sound.ts";
import { optionsFor, tryOut } from "./trial.ts";

/** What came of one broken server. */
export type Catch = {
  fault: Fault;
  /** The checks that caught it, by requirement; none where it was missed. */
  by: Record<string, string[]>;
  missed: string[];
  /** Other requirements that failed in the same checks. */
  also: string[];
  /** What the suite itself went wrong with. */
  errors: string[];
  ms: number;
};

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const levelOf = (id: string) => requirements.get(id)?.level;
const expected: Record<Requirement["level"], Verdict> = { must: "fail", should: "warn", observe: "observed" };

/** Observations of a requirement as one text, equal when the behaviour is. */
const observationsOf = (report: Report, id: string) =>
  JSON.stringify(
    report.observed.filter(({ requirement }) => requirement === id).map(({ name, value }) => [name, value]),
  );

/** What the sound server does where the interface leaves it open. */
export type Usual = ReadonlyMap<string, string>;

export async function observeSound(): Promise<Usual> {
  const ids = catalogue.filter(({ level }) => level === "observe").map(({ id }) => id);
  const server = await startBroken();
  try {
    const report = await tryOut(await optionsFor(server, ["--profile", "core"]), { only: ids });
    return new Map(ids.map((id) => [id, observationsOf(report, id)]));
  } finally {
    await server.stop();
  }
}

/** The checks that caught a fault for one requirement. What is only observed is caught by doing otherwise than usual. */
function catchers(report: Report, id: string, usual: Usual): string[] {
  const result = report.requirements.find((requirement) => requirement.id === id);
  if (!result || result.verdict !== expected[result.level]) return [];
  if (result.level === "observe" && observationsOf(report, id) === usual.get(id)) return [];
  return result.checks.filter(({ verdict }) => verdict === expected[result.level]).map(({ name }) => name);
}

/** Says of the reports so far whether all of these requirements have failed. */
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
    return await tryOut(options, { only: ids, through: fault.through, enough: allFailed(ids) });
  } finally {
    await server.stop();
  }
}

/** Starts a broken server and runs the checks that have to catch it; each profile judges its own requirements. */
export async function tryFault(fault: Fault, usual: Usual): Promise<Catch> {
  const start = performance.now();
  const result: Catch = { fault, by: {}, missed: [], also: [], errors: [], ms: 0 };
  for (const profile of ["core", "extended"] as const) {
    const ids = fault.breaks.filter((id) => requirements.get(id)?.profile === profile);
    if (ids.length === 0) continue;
    const report = await tryProfile(fault, profile, ids);
    for (const id of ids) result.by[id] = catchers(report, id, usual);
    const others = report.requirements.filter(({ id, verdict }) => verdict === "fail" && !fault.breaks.includes(id));
    result.also.push(...others.map(({ id }) => id));
    result.errors.push(...report.errors);
  }
  result.missed = fault.breaks.filter((id) => !result.by[id]?.length);
  result.also = [...new Set(result.also)];
  result.ms = Math.round(performance.now() - start);
  return result;
}

/** What came of one run against a sound server. */
export type Alarm = {
  /** The requirements that failed, warned or could not be judged although nothing is wrong, with what was said of them. */
  alarms: string[];
  verdict: Report["verdict"];
  ms: number;
};

/**
 * Runs everything against a sound server.
 * @param tolerated verdicts that are no alarm: a server that differs may be warned where a `should` stands
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
    const report = await tryOut(options);
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
