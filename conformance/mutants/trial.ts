// Runs the suite against one mutant, and finds out which checks run which code.
import { fileURLToPath } from "node:url";
import { Session } from "node:inspector/promises";
import type { Check } from "../check.ts";
import { checks } from "../topics/index.ts";
import { optionsFor, runTrial } from "../broken/trial.ts";
import type { Running } from "../broken/server.ts";
import type { Profile } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { loadServer } from "./load.ts";
import { serverFolder, type Mutant } from "./mutants.ts";

/** How the suite judged a mutant. */
export type Outcome = {
  /**
   * `caught`: a must failed. `stopped`: the server did not start, crashed, or could not be judged. `warned`: only a should
   * was violated. `survived`: the suite found no violation.
   */
  verdict: "caught" | "stopped" | "warned" | "survived";
  /** The requirements with that verdict, or what stopped the server. */
  by: string[];
  /** The check that was running when the requirement was violated. */
  check?: string;
  /** True if a check could not judge a requirement. In a group, the effects of the other edits may then be hidden. */
  isPartial?: boolean;
};

/**
 * States the effects, because the default depends on /healthz: a mutant that breaks /healthz would prevent the checks
 * that pay, and would therefore hide the other mutants of its group.
 */
const args = (profile: Profile) =>
  `--profile ${profile} --effects money --failing-recipient 2250000000089 --timeout 4000`.split(" ");

/** The time limit is short, because the clock of many mutants never responds. */
const clockTimeoutMs = 6000;

let crash: (error: unknown) => void = () => {};
process.on("uncaughtException", (error) => crash(error));
process.on("unhandledRejection", (error) => crash(error));

const stop = (server: Running) =>
  Promise.race([server.stop(), new Promise((resolve) => setTimeout(resolve, 1500).unref())]);
const projectFolder = fileURLToPath(new URL("../../", import.meta.url));
/** The first line of an error's message, without the path of this checkout. */
const sentence = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0]!.replaceAll(projectFolder, "").slice(0, 120);
const idsWith = (report: CheckReport, verdict: string) =>
  Object.entries(report.results)
    .filter(([, result]) => result.verdict === verdict)
    .map(([id]) => id);

/** False for the pseudo-check that reports on every response of the run. */
const isOfSuite = (check: Check) => checks.includes(check);

/**
 * Runs checks against a server with the edits of one or more mutants, until one check fails.
 * @param choose selects and orders the checks
 */
export async function tryMutants(
  mutants: readonly Mutant[],
  profile: Profile,
  choose: (checks: Check[]) => Check[],
): Promise<Outcome> {
  let server: Running | undefined;
  const crashed = new Promise<never>((_, reject) => (crash = reject));
  crashed.catch(() => {});
  const judge = async (): Promise<Outcome> => {
    server = await (await loadServer(mutants)).startMutant();
    const warned = new Set<string>();
    const unjudged = new Set<string>();
    const skipped = new Set<string>();
    let caught: Outcome | undefined;
    let [running, warning] = ["", ""];
    const enough = (report: CheckReport, check: Check) => {
      if (isOfSuite(check)) running = check.name;
      const failed = idsWith(report, "fail");
      for (const id of idsWith(report, "warn")) warned.add(id);
      if (warned.size > 0) warning ||= running;
      if (report.error !== undefined) unjudged.add(sentence(report.error));
      // A run of a few checks has no response for some of the requirements that concern every response.
      if (isOfSuite(check)) {
        for (const id of idsWith(report, "could-not-run")) unjudged.add(id);
        for (const id of idsWith(report, "not-applicable")) skipped.add(id);
      }
      if (failed.length > 0) caught = { verdict: "caught", by: failed, check: running };
      return caught !== undefined;
    };
    const options = { ...(await optionsFor(server, args(profile))), clockTimeoutMs };
    await runTrial(options, { choose, enough, watching: true });
    if (caught) return caught;
    const isPartial = unjudged.size + skipped.size > 0;
    if (unjudged.size > 0) return { verdict: "stopped", by: [...unjudged], isPartial };
    if (warned.size > 0) return { verdict: "warned", by: [...warned], check: warning, isPartial };
    return { verdict: "survived", by: [], isPartial };
  };
  try {
    return await Promise.race([judge(), crashed]);
  } catch (error) {
    return { verdict: "stopped", by: [sentence(error)] };
  } finally {
    if (server) await stop(server).catch(() => {});
  }
}

/** The name that stands for code that runs before the first check. */
export const atStart = "start";

export type Coverage = { checks: { name: string; ms: number }[]; reached: Record<string, string[]> };

type Range = { startOffset: number; endOffset: number; count: number };

/** Runs the whole suite against the unchanged server. Returns, for each mutant, the checks that run its code. */
export async function measure(mutants: readonly Mutant[]): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const reached: Record<string, string[]> = {};
  const durations: Coverage["checks"] = [];
  const pending: Promise<void>[] = [];
  const take = (name: string) =>
    void pending.push(session.post("Profiler.takePreciseCoverage").then(({ result }) => note(result, name)));
  const note = (scripts: { url: string; functions: { ranges: Range[] }[] }[], name: string) => {
    const ranges = new Map<string, Range[]>();
    for (const { url, functions } of scripts) {
      if (!url.startsWith(serverFolder.href)) continue;
      ranges.set(
        url.split("?")[0]!.slice(serverFolder.href.length),
        functions.flatMap((each) => each.ranges),
      );
    }
    for (const mutant of mutants) {
      if (isReached(mutant.start, ranges.get(mutant.file) ?? [])) (reached[mutant.id] ??= []).push(name);
    }
  };
  const server = await (await loadServer()).startMutant();
  let started = performance.now();
  const enough = (report: CheckReport, check: Check) => {
    const failed = [...idsWith(report, "fail"), ...idsWith(report, "could-not-run")];
    if (failed.length > 0) throw new Error(`the unchanged server fails ${failed.join(", ")}`);
    if (!isOfSuite(check)) return false;
    durations.push({ name: check.name, ms: Math.round(performance.now() - started) });
    take(check.name);
    started = performance.now();
    return false;
  };
  const options = await optionsFor(server, args("extended"));
  take(atStart);
  for (const { id, file } of mutants) if (file.endsWith(".sql")) reached[id] = [atStart];
  await runTrial(options, { enough });
  await Promise.all(pending);
  await server.stop();
  session.disconnect();
  return { checks: durations, reached };
}

/** True if the innermost range around a place was executed. */
function isReached(place: number, ranges: readonly Range[]): boolean {
  let inner: Range | undefined;
  for (const range of ranges) {
    if (range.startOffset > place || range.endOffset <= place) continue;
    if (!inner || range.endOffset - range.startOffset <= inner.endOffset - inner.startOffset) inner = range;
  }
  return (inner?.count ?? 0) > 0;
}
