// Determines whether the suite catches a broken server, and certifies a sound one. A broken server is caught if each
// requirement that it violates gets the verdict for a violation at its level: `fail` for `must`, `warn` for `should`, and
// an observation that differs from the sound server's for `observe`.
import { catalogue } from "../contract/requirements.ts";
import type { Profile, Report, Requirement, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { joined, type Fault } from "./fault.ts";
import { startBroken, type Running } from "./server.ts";
import type { SoundServer } from "./sound.ts";
import { runTrial, type Trial } from "./trial.ts";

const requirements = new Map<string, Requirement>(catalogue.map((requirement) => [requirement.id, requirement]));
const violation: Record<Requirement["level"], Verdict> = { must: "fail", should: "warn", observe: "observed" };

/** Returns a requirement's observations as one string. Equal behaviour gives equal strings. */
const observationsOf = (report: Report, id: string) =>
  JSON.stringify(
    report.observed.filter(({ requirement }) => requirement === id).map(({ name, value }) => [name, value]),
  );

/** The observations of the sound server, by requirement id. A broken server's must differ. */
export type Baseline = ReadonlyMap<string, string>;

export async function observeSound(): Promise<Baseline> {
  const ids = catalogue.filter(({ level }) => level === "observe").map(({ id }) => id);
  const report = await runTrial(startBroken(), [], { only: ids });
  return new Map(ids.map((id) => [id, observationsOf(report, id)]));
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
      const level = requirements.get(id)?.level ?? "must";
      if (level !== "observe" && verdict === violation[level]) open.delete(id);
    }
    return open.size === 0;
  };
}

/**
 * Starts a server with a fault and runs the checks that must catch the fault. Does so once for each profile in which
 * the fault violates a requirement. Returns the violated requirements for which no check caught the fault, and errors of
 * the suite itself.
 */
export async function tryFault(
  { how, violates, through }: Pick<Fault, "how" | "violates" | "through">,
  baseline: Baseline,
  args: readonly string[] = [],
): Promise<{ missed: string[]; errors: string[] }> {
  const result = { missed: [] as string[], errors: [] as string[] };
  for (const profile of ["core", "extended"] as const) {
    const ids = violates.filter((id) => requirements.get(id)?.profile === profile);
    if (ids.length === 0) continue;
    const trial = { only: ids, through, enough: allFailed(ids) };
    const report = await runTrial(startBroken(how), ["--profile", profile, ...args], trial);
    const caught = report.requirements.filter(
      ({ id, level, verdict }) =>
        verdict === violation[level] && (level !== "observe" || observationsOf(report, id) !== baseline.get(id)),
    );
    result.missed.push(...ids.filter((id) => !caught.some((requirement) => requirement.id === id)));
    result.errors.push(...report.errors);
  }
  return result;
}

/** A fault that no other requirements may catch than those in `onlyBy`. */
export type OnlyCaughtBy = Fault & Required<Pick<Fault, "onlyBy">>;

/**
 * Runs all checks of the profile against a server. Returns the requirements that failed, and the suite's own errors.
 * A record is old after 30 seconds, longer than any check takes. Only the checks that linger at the end of the run see
 * old records.
 */
export async function findCatching({ how, onlyBy: { profile } }: OnlyCaughtBy): Promise<string[]> {
  const report = await runTrial(startBroken(how, 30_000), ["--profile", profile, "--linger", "35"]);
  return [...report.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id), ...report.errors];
}

type Deployment = Partial<SoundServer> & { start?: () => Promise<Running> };

/** Runs checks of a profile against a server, with every option that a check may need. */
export async function runAgainst(
  { how, start = () => startBroken(how), args = [], declared }: Deployment,
  profile: Profile,
  trial?: Trial,
): Promise<Report> {
  const server = await start();
  const provided = ["--effects", "money", "--recipient", "2257038102473", "--failing-recipient", "2250000000089"];
  const all = ["--profile", profile, ...provided, ...args];
  return runTrial(server, all, { ...trial, declared });
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

/** Joins faults to a sound deployment. Returns violations left unreported; `caller` reports a missing option. */
export async function hiddenBy(
  server: SoundServer,
  faults: readonly Pick<Fault, "how" | "violates">[],
): Promise<string[]> {
  const ids: string[] = faults.flatMap(({ violates }) => violates);
  const how = joined(server.how, ...faults.map((fault) => fault.how));
  const report = await runAgainst({ ...server, how }, "core", { only: ids, enough: allFailed(ids) });
  return report.requirements
    .filter(({ id, verdict, reason }) => {
      const isReported = ["fail", "could-not-run"].includes(verdict) || reason?.code === "caller";
      return ids.includes(id) && !isReported;
    })
    .map(({ id, verdict }) => `${id}: ${verdict}`);
}
