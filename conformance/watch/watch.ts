// Judges traffic while it is read, serves metrics, and writes the report.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { makeFolder, renderReports, writeReports } from "../cli/reporting.ts";
import { renderTerminal } from "../report/terminal.ts";
import { complain, print } from "../report/visible.ts";
import { CannotRun, exitCodeOf, type Profile } from "../results.ts";
import { createJudge } from "./judge.ts";
import { renderMetrics } from "./metrics.ts";
import { watchedReport, type Circumstances } from "./report.ts";
import { saveMemory } from "./store.ts";
import type { Listener } from "./traffic.ts";

/** Settings of a watch. They are JSON, so that they can be given to another process. */
export type WatchSettings = Circumstances & {
  profile: Profile;
  /** The base URL of the service. */
  target?: string | undefined;
  /** See JudgeOptions. */
  webhookClockMs?: number;
  /** The directory of the report (`--report`). */
  folder: string;
  /** Every how many milliseconds the report is written while the watch runs (`--every`); by default only at its end. */
  everyMs?: number | undefined;
  metrics?: { host: string; port: number } | undefined;
};

/**
 * Judges the traffic that `read` tells, and writes the report at its end, also if it fails.
 * @returns the exit code: 1 if a must was contradicted, 2 if nothing was seen or `read` failed
 * @throws CannotRun if the folder cannot be written, or the address of the metrics cannot be used
 */
export async function judgeTraffic(
  settings: WatchSettings,
  read: (judge: Listener) => Promise<void>,
): Promise<0 | 1 | 2> {
  const { source, declared, folder, everyMs, metrics } = settings;
  makeFolder({ report: folder });
  saveMemory();
  const judge = createJudge({ ...settings, ...declared });
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8").end(renderMetrics(judge.result()));
  });
  async function write() {
    const { report, contents } = renderReports(watchedReport(judge.result(), { source, declared }));
    return { report, written: await writeReports(folder, contents) };
  }
  let writing = Promise.resolve();
  function writeAgain(): void {
    writing = writing.then(write).then(
      ({ report }) => print(`${new Date().toISOString()}  ${report.summary}`),
      // A report that cannot be written now may be written the next time.
      (error: Error) => complain(`The report was not written: ${error.message}`),
    );
  }
  const timer = everyMs === undefined ? undefined : setInterval(writeAgain, everyMs);
  try {
    if (metrics) {
      server.listen(metrics);
      await once(server, "listening").catch((error: Error) => {
        throw new CannotRun(`--metrics: ${error.message}`);
      });
      print(`Metrics are served on port ${(server.address() as AddressInfo).port}.`);
    }
    const failure = await read(judge).catch((error: Error) => error);
    await writing;
    const { report, written } = await write();
    process.stdout.write(`\n${renderTerminal(report, { color: process.stdout.isTTY })}\n`);
    print(`Written: ${written.join(", ")}`);
    if (failure) complain(failure.message);
    return exitCodeOf(report) || (failure ? 2 : 0);
  } finally {
    clearInterval(timer);
    server.close();
    server.closeAllConnections();
    judge.close();
  }
}
