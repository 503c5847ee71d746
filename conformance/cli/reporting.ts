// Turns the results of a run into files.
import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../certificate/hashes.ts";
import { signCertificate } from "../certificate/sign.ts";
import { joinWatched } from "../report/watched.ts";
import { applyBaseline, newBaseline } from "../report/baseline.ts";
import { renderHtml } from "../report/html.ts";
import { renderJson, withoutExcess } from "../report/json.ts";
import { renderJunit } from "../report/junit.ts";
import { complain, print } from "../report/visible.ts";
import { renderSummary } from "../report/summary.ts";
import { renderTerminal } from "../report/terminal.ts";
import { CannotRun, exitCodeOf, type Report } from "../results.ts";
import type { Reporting } from "./options.ts";

/** Where `--baseline new` writes the failures of a run. */
const baselineFile = "conformance-baseline.yaml";

/**
 * Creates the directory for the files.
 * @throws CannotRun if the directory cannot be created or is not writable
 */
export function makeFolder({ report: folder }: Reporting): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new CannotRun(`--report: ${(error as Error).message}`);
  }
}

/** The name of the file with everything that the run received from outside, such as responses, webhooks and times. */
export const exchangesFile = "exchanges.jsonl.gz";

/** Joins the report with that of a watch, applies the baseline, and renders report.html, report.json, junit.xml and summary.md. */
export function renderReports(
  found: Report,
  { baseline, watched }: Pick<Reporting, "baseline" | "watched"> = {},
  now = new Date(),
) {
  const report = withoutExcess(applyBaseline(watched ? joinWatched(found, watched) : found, baseline, now));
  const json = renderJson(report);
  const contents: Record<string, string> = {
    "report.html": renderHtml(report),
    "report.json": json,
    "junit.xml": renderJunit(report),
    "summary.md": renderSummary(report),
  };
  return { report, json, contents };
}

/**
 * Writes files into the folder of a report. What an earlier run wrote beside them is removed, because it does not belong
 * to this report. A reader finds each file complete, the earlier or the new one. Returns the paths of the files.
 */
export async function writeReports(folder: string, contents: Readonly<Record<string, string | Buffer>>) {
  for (const name of ["certificate.jws", exchangesFile])
    if (!(name in contents)) await rm(join(folder, name), { force: true });
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(join(folder, `${name}.part`), content);
    await rename(join(folder, `${name}.part`), join(folder, name));
  }
  return Object.keys(contents).map((name) => join(folder, name));
}

/**
 * Writes the files of `renderReports`, the recorded exchanges and, if earned, certificate.jws. Prints the report.
 * @param exchanges the content of `exchangesFile`; undefined if nothing was recorded
 * @returns the exit code of the run; 1 instead of 0 if a requested certificate was not issued
 */
export async function publish(found: Report, reporting: Reporting, now: Date, exchanges?: Buffer): Promise<0 | 1 | 2> {
  const { report: folder, baseline, sign } = reporting;
  const recorded = exchanges && { exchangesSha256: sha256(exchanges) };
  const { report, json, contents: texts } = renderReports({ ...found, ...recorded }, reporting, now);
  const contents: Record<string, string | Buffer> = { ...texts, ...(exchanges && { [exchangesFile]: exchanges }) };
  let refusal: string | undefined;
  try {
    if (sign) contents["certificate.jws"] = `${await signCertificate(report, json, { key: sign, now })}\n`;
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    refusal = error.message;
  }
  const written = await writeReports(folder, contents);
  process.stdout.write(`\n${renderTerminal(report, { color: process.stdout.isTTY })}\n`);
  print(`Written: ${written.join(", ")}`);
  if (baseline === "new") print(writeBaseline(report, now));
  if (refusal === undefined) return exitCodeOf(report);
  complain(refusal);
  return exitCodeOf(report) || 1;
}

/** Writes the failures of a run as a list of known failures, and says what to do with it. */
function writeBaseline(report: Report, now: Date): string {
  if (report.counts.fail === 0) return "Nothing failed, so no baseline was written.";
  if (existsSync(baselineFile)) return `${baselineFile} exists already. It was not replaced, because it has reasons.`;
  writeFileSync(baselineFile, newBaseline(report, now));
  return `Written: ${baselineFile}. Fill in each reason, then add --baseline ${baselineFile} to the command.`;
}

const signals = ["SIGINT", "SIGTERM"] as const;

/**
 * Lets the first Ctrl-C between `listen` and `unlisten` end a run early, but with its report. The second one ends the
 * process at once.
 */
export function createInterruption() {
  const controller = new AbortController();
  const abort = () => controller.abort();
  return {
    interrupted: controller.signal,
    listen: () => signals.forEach((signal) => process.once(signal, abort)),
    unlisten: () => signals.forEach((signal) => process.off(signal, abort)),
  };
}
