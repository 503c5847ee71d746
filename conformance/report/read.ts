import { readFileSync } from "node:fs";
import { CannotRun, type Report } from "../results.ts";

/**
 * Reads a report.json.
 * @throws CannotRun if the file cannot be read or is not a report
 */
export function readReport(file: string): Report {
  try {
    const report = JSON.parse(readFileSync(file, "utf8")) as Partial<Report>;
    if (Array.isArray(report.requirements) && Array.isArray(report.observed)) return report as Report;
  } catch (error) {
    throw new CannotRun(`${file} is not a readable report: ${(error as Error).message}`, { cause: error });
  }
  throw new CannotRun(`${file} is not a report of certify.`);
}
