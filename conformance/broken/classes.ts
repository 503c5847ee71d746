// Shows that only the checks written for a class of defects catch it: all checks of the profile run against a server of
// that class, and no other requirement may fail.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Profile } from "../results.ts";
import { faults } from "./faults.ts";
import { startBroken } from "./server.ts";
import { optionsFor, runTrial } from "./trial.ts";

/** An entry of classes.yaml, which explains the fields. */
export type DefectClass = { class: string; server: string; requirements: string[]; profile?: Profile };

export const classes = parse(readFileSync(new URL("classes.yaml", import.meta.url), "utf8")) as DefectClass[];

/** The requirements that failed although they are not of the class, and those of the class that failed. */
export type Killers = { own: string[]; others: string[]; errors: string[]; ms: number };

/**
 * The age from which a server treats a record as old. No check takes that long, so only those at the end of the run,
 * after `lingerSeconds`, find old records.
 */
const oldAge = 30_000;
const lingerSeconds = 35;

/** Runs all checks of the profile against the server of a class. */
export async function findKillers({ server: id, requirements, profile = "core" }: DefectClass): Promise<Killers> {
  const start = performance.now();
  const fault = faults.find((each) => each.id === id);
  if (!fault) throw new Error(`unknown broken server ${id}`);
  const server = await startBroken(fault.how, oldAge);
  try {
    const report = await runTrial(await optionsFor(server, ["--profile", profile, "--linger", String(lingerSeconds)]));
    const failed = report.requirements.filter(({ verdict }) => verdict === "fail").map((each) => each.id);
    return {
      own: failed.filter((each) => requirements.includes(each)),
      others: failed.filter((each) => !requirements.includes(each)),
      errors: report.errors,
      ms: Math.round(performance.now() - start),
    };
  } finally {
    await server.stop();
  }
}
