// From the results of a run to the files that people are handed. What this needs is read before the run: a run that
// has paid must not end in a key or a folder that cannot be used.
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
  /** Where the files go. */
  folder: string;
  /** Failures tolerated for now. */
  baseline: KnownFailure[];
  /** Left out: no certificate is wanted. */
  signing?: { key: KeyObject; validDays: number };
};

/**
 * Reads the list of known failures and the signing key; what is wrong with them goes to `faults`.
 * @param given.ids of all requirements there are
 */
export function readReporting(
  given: { folder: string; baselineFile?: string; keyFile?: string; validDays: number; ids: Iterable<string> },
  faults: string[],
): Reporting {
  const reporting: Reporting = { folder: given.folder, baseline: [] };
  const tried = (flag: string, attempt: () => void) => {
    try {
      attempt();
    } catch (error) {
      const problems = error instanceof BaselineError ? error.problems : [(error as Error).message];
      if (!(error instanceof BaselineError || error instanceof KeyError || isSystemError(error))) throw error;
      faults.push(...problems.map((problem) => `--${flag}: ${problem}`));
    }
  };
  tried("baseline", () => {
    if (given.baselineFile === undefined) return;
    reporting.baseline = readBaseline(readFileSync(given.baselineFile, "utf8"), given.ids);
  });
  tried("sign", () => {
    if (given.keyFile === undefined) return;
    reporting.signing = { key: readPrivateKey(given.keyFile), validDays: given.validDays };
  });
  return reporting;
}

/** Makes the folder of the report. @throws Error that says why it cannot be made or written to */
export function makeFolder({ folder }: Reporting): void {
  mkdirSync(folder, { recursive: true });
  accessSync(folder, constants.W_OK);
}

const isSystemError = (error: unknown) => error instanceof Error && "syscall" in error;

export type WrittenReports = {
  /** As found, known failures tolerated. */
  report: Report;
  /** Paths of the files written, report.html first. */
  files: string[];
  /** Why there is no certificate although one was wanted. */
  refusal?: string;
  /** As `exitCodeOf`; also 1 when a certificate was wanted and not earned. */
  exitCode: 0 | 1 | 2;
};

/** Tolerates known failures, and writes report.html, report.json, junit.xml, badge.svg and, where earned, certificate.jws. */
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
  // The certificate of an earlier run would stand beside a report that it does not belong to.
  await rm(join(folder, "certificate.jws"), { force: true });
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const files = Object.keys(contents).map((name) => join(folder, name));
  const exitCode = refusal !== undefined && exitCodeOf(report) === 0 ? 1 : exitCodeOf(report);
  return { report, files, exitCode, ...(refusal === undefined ? {} : { refusal }) };
}
