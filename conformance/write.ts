import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Report } from "./results.ts";

/** Writes the report's files into a folder, which is made when it is missing. @returns the path of report.json */
export async function writeReports(report: Report, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "report.json");
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}
