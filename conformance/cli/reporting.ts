// Turns the results of a run into files. The baseline, the signing key and the directory are validated before the run,
// so that the run does not pay and then fail because of them.
import type { KeyObject } from "node:crypto";
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../certificate/hashes.ts";
import { KeyError, readPrivateKey } from "../certificate/keys.ts";
import { NotCertified, signCertificate } from "../certificate/sign.ts";
import { renderBadge } from "../report/badge.ts";
import { applyBaseline, BaselineError, readBaseline } from "../report/baseline.ts";
import type { KnownFailure } from "../report/baseline.ts";
import { compact } from "../report/compact.ts";
import { renderHtml } from "../report/html.ts";
import { renderJson } from "../report/json.ts";
import { renderJunit } from "../report/junit.ts";
import { renderTestResult } from "../report/test-result.ts";
import { exitCodeOf } from "../results.ts";
import type { Report } from "../results.ts";

export type Reporting = {
  /** The directory for the files. */
  folder: string;
  /** The failures that are tolerated until they expire. */
  baseline: KnownFailure[];
  /** How to sign the certificate; undefined if none was requested. */
  signing?: { key: KeyObject; validDays: number };
};

/**
 * Reads the list of known failures and the signing key. Adds what is wrong with them to `faults`.
 * @param given.ids the ids of all requirements
 */
export function readReporting(
  given: { folder: string; baselineFile?: string; keyFile?: string; validDays: number; ids: Iterable<string> },
  faults: string[],
): Reporting {
  const reporting: Reporting = { folder: given.folder, baseline: [] };
  const use = (flag: string, file: string | undefined, readFrom: (file: string) => void) => {
    try {
      if (file !== undefined) readFrom(file);
    } catch (error) {
      const problems = error instanceof BaselineError ? error.problems : [(error as Error).message];
      if (!(error instanceof BaselineError || error instanceof KeyError || isSystemError(error))) throw error;
      faults.push(...problems.map((problem) => `--${flag}: ${problem}`));
    }
  };
  use("baseline", given.baselineFile, (file) => {
    reporting.baseline = readBaseline(readFileSync(file, "utf8"), given.ids);
  });
  use("sign", given.keyFile, (file) => {
    reporting.signing = { key: readPrivateKey(file), validDays: given.validDays };
  });
  return reporting;
}

/**
 * Creates the directory for the files.
 * @throws Error if the directory cannot be created or is not writable
 */
export function makeFolder({ folder }: Reporting): void {
  mkdirSync(folder, { recursive: true });
  accessSync(folder, constants.W_OK);
}

/** Returns true for an error of the operating system, such as a file that does not exist. */
export const isSystemError = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

export type WrittenReports = {
  /** The results after the baseline was applied. */
  report: Report;
  /** The paths of the written files, report.html first. */
  files: string[];
  /** The reason why a requested certificate was not issued; undefined otherwise. */
  refusal?: string;
  /** The result of `exitCodeOf`, except that it is 1 instead of 0 if a requested certificate was not issued. */
  exitCode: 0 | 1 | 2;
};

/** The name of the file with everything that the run learned from outside. */
export const exchangesFile = "exchanges.jsonl.gz";

/** Applies the baseline and renders report.html, report.json, junit.xml, badge.svg and test-result.json. */
export function renderReports(found: Report, baseline: readonly KnownFailure[], now: Date) {
  const { report: complete } = applyBaseline(found, baseline, now);
  const { report, files: pages } = compact(complete, (each): [string, string] => [renderHtml(each), renderJson(each)]);
  const [html, json] = pages;
  const contents: Record<string, string> = {
    "report.html": html,
    "report.json": json,
    "junit.xml": renderJunit(report),
    "badge.svg": renderBadge(report),
    "test-result.json": renderTestResult(report),
  };
  return { report, json, contents };
}

/**
 * Writes the files of `renderReports`, the recorded exchanges and, if earned, certificate.jws.
 * @param exchanges the content of `exchangesFile`; undefined if nothing was recorded
 */
export async function writeReports(
  found: Report,
  { folder, baseline, signing }: Reporting,
  now: Date,
  exchanges?: Buffer,
): Promise<WrittenReports> {
  const recorded = exchanges && { exchangesSha256: sha256(exchanges) };
  const { report, json, contents: texts } = renderReports({ ...found, ...recorded }, baseline, now);
  const contents: Record<string, string | Buffer> = { ...texts, ...(exchanges && { [exchangesFile]: exchanges }) };
  let refusal: string | undefined;
  try {
    if (signing) contents["certificate.jws"] = `${await signCertificate(report, json, { ...signing, now })}\n`;
  } catch (error) {
    if (!(error instanceof NotCertified)) throw error;
    refusal = error.message;
  }
  // Remove what an earlier run wrote here, because it does not belong to this report.
  for (const name of ["certificate.jws", exchangesFile]) await rm(join(folder, name), { force: true });
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const files = Object.keys(contents).map((name) => join(folder, name));
  const exitCode = refusal !== undefined && exitCodeOf(report) === 0 ? 1 : exitCodeOf(report);
  return { report, files, exitCode, ...(refusal === undefined ? {} : { refusal }) };
}
