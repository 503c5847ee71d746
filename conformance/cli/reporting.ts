// Turns the results of a run into files. The baseline, the signing key and the folder are checked before the run, so
// that a run which has paid cannot fail on them.
import type { KeyObject } from "node:crypto";
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyError, readPrivateKey } from "../certificate/keys.ts";
import { NotCertified, signCertificate } from "../certificate/sign.ts";
import { renderBadge } from "../report/badge.ts";
import { applyBaseline, BaselineError, readBaseline } from "../report/baseline.ts";
import type { KnownFailure } from "../report/baseline.ts";
import { renderHtml } from "../report/html.ts";
import { renderJunit } from "../report/junit.ts";
import { exitCodeOf } from "../results.ts";
import type { Report } from "../results.ts";

export type Reporting = {
  /** Directory for the files. */
  folder: string;
  /** Failures tolerated for now. */
  baseline: KnownFailure[];
  /** Undefined if no certificate was requested. */
  signing?: { key: KeyObject; validDays: number };
};

/**
 * Reads the list of known failures and the signing key, and adds what is wrong with them to `faults`.
 * @param given.ids the ids of all requirements
 */
export function readReporting(
  given: { folder: string; baselineFile?: string; keyFile?: string; validDays: number; ids: Iterable<string> },
  faults: string[],
): Reporting {
  const reporting: Reporting = { folder: given.folder, baseline: [] };
  const collectFaults = (flag: string, read: () => void) => {
    try {
      read();
    } catch (error) {
      const problems = error instanceof BaselineError ? error.problems : [(error as Error).message];
      if (!(error instanceof BaselineError || error instanceof KeyError || isSystemError(error))) throw error;
      faults.push(...problems.map((problem) => `--${flag}: ${problem}`));
    }
  };
  collectFaults("baseline", () => {
    if (given.baselineFile === undefined) return;
    reporting.baseline = readBaseline(readFileSync(given.baselineFile, "utf8"), given.ids);
  });
  collectFaults("sign", () => {
    if (given.keyFile === undefined) return;
    reporting.signing = { key: readPrivateKey(given.keyFile), validDays: given.validDays };
  });
  return reporting;
}

/** Creates the report's directory. @throws Error if that fails or the directory is not writable */
export function makeFolder({ folder }: Reporting): void {
  mkdirSync(folder, { recursive: true });
  accessSync(folder, constants.W_OK);
}

const isSystemError = (error: unknown) => error instanceof Error && "syscall" in error;

export type WrittenReports = {
  /** The results, with known failures tolerated. */
  report: Report;
  /** Paths of the written files, report.html first. */
  files: string[];
  /** Why there is no certificate although one was requested. */
  refusal?: string;
  /** As `exitCodeOf`, but 1 if a certificate was requested and not earned. */
  exitCode: 0 | 1 | 2;
};

/** Applies the baseline and writes report.html, report.json, junit.xml, badge.svg and, if earned, certificate.jws. */
export async function writeReports(
  found: Report,
  { folder, baseline, signing }: Reporting,
  now: Date,
): Promise<WrittenReports> {
  const { report } = applyBaseline(found, baseline, now);
  const json = `${JSON.stringify(report, null, 2)}\n`;
  const contents: Record<string, string> = {
    "report.html": renderHtml(report),
    "report.json": json,
    "junit.xml": renderJunit(report),
    "badge.svg": renderBadge(report),
  };
  let refusal: string | undefined;
  try {
    if (signing) contents["certificate.jws"] = `${await signCertificate(report, json, { ...signing, now })}\n`;
  } catch (error) {
    if (!(error instanceof NotCertified)) throw error;
    refusal = error.message;
  }
  // A certificate of an earlier run does not belong to this report.
  await rm(join(folder, "certificate.jws"), { force: true });
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const files = Object.keys(contents).map((name) => join(folder, name));
  const exitCode = refusal !== undefined && exitCodeOf(report) === 0 ? 1 : exitCodeOf(report);
  return { report, files, exitCode, ...(refusal === undefined ? {} : { refusal }) };
}
