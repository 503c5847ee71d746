// Where the findings of a watch go: report files, the terminal and metrics. The process that judges has the outlet.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { makeFolder, renderReports, writeReports } from "../cli/reporting.ts";
import { renderTerminal } from "../report/terminal.ts";
import { complain, print } from "../report/visible.ts";
import { CannotRun, exitCodeOf } from "../results.ts";
import { renderMetrics } from "./metrics.ts";
import { watchedReport, type Circumstances } from "./report.ts";
import type { WatchResult } from "./result.ts";

/** Settings of an outlet. They are JSON, so that they can be given to another process. */
export type OutletSettings = Circumstances & {
  /** The directory of the report (`--report`). */
  folder: string;
  /** Every how many milliseconds the report is written while the watch runs (`--every`); by default only at its end. */
  everyMs?: number | undefined;
  metrics?: { host: string; port: number } | undefined;
};

/**
 * Opens the outlet of a watch. While it is open, it serves metrics and writes the report at the given interval.
 * `finish` writes the report for the last time, prints it, and returns the exit code: 1 if a must was contradicted, 2 if
 * nothing was seen.
 * @param result returns what was seen so far
 * @throws CannotRun if the folder cannot be written, or the address of the metrics cannot be used
 */
export async function openOutlet(
  { folder, everyMs, metrics, ...circumstances }: OutletSettings,
  result: () => WatchResult,
) {
  makeFolder({ report: folder });
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8").end(renderMetrics(result()));
  });
  if (metrics) {
    server.listen(metrics);
    await once(server, "listening").catch((error: Error) => {
      throw new CannotRun(`--metrics: ${error.message}`);
    });
    print(`Metrics are served on port ${(server.address() as AddressInfo).port}.`);
  }

  async function write() {
    const { report, contents } = renderReports(watchedReport(result(), circumstances));
    return { report, written: await writeReports(folder, contents) };
  }
  let writing = Promise.resolve();
  const writeAgain = () => {
    writing = writing.then(write).then(
      ({ report }) => print(`${new Date().toISOString()}  ${report.summary}`),
      // A report that cannot be written now may be written the next time.
      (error: Error) => complain(`The report was not written: ${error.message}`),
    );
  };
  const timer = everyMs === undefined ? undefined : setInterval(writeAgain, everyMs);
  return {
    async finish(): Promise<0 | 1 | 2> {
      clearInterval(timer);
      server.close();
      server.closeAllConnections();
      await writing;
      const { report, written } = await write();
      process.stdout.write(`\n${renderTerminal(report, { color: process.stdout.isTTY })}\n`);
      print(`Written: ${written.join(", ")}`);
      return exitCodeOf(report);
    },
  };
}
