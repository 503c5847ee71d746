import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Logger } from "pino";
import type { Emit, Telemetry } from "../domain/telemetry.ts";

/** Shorter blocks of the event loop are not logged. */
const WORTH_A_LINE_MS = 500;

/** Writes the log's lines about requests, attempts, the storage and the event loop. */
export function logTelemetry({ on }: Pick<Telemetry, "on">, log: Logger): void {
  on("request", ({ durationMs, operationId, trace, ...request }) =>
    log.info({ ...request, operation: operationId, traceId: trace?.traceId, ms: Math.round(durationMs * 10) / 10 }),
  );
  on("attempt", ({ eventId, counted }) => {
    if (counted) return;
    log.info({ event: eventId }, "the result of an attempt was dropped: its delivery was reset or claimed again");
  });
  on("storage", ({ working, message, error }) => log[working ? "info" : "error"]({ err: error }, message));
  on("clock", ({ clock, aheadMs, steppedMs }) => {
    if (steppedMs !== undefined) log.warn({ clock, steppedMs }, "the clock has jumped, and the server's time with it");
    else if (aheadMs === 0) log.info("the process's clock agrees with the database's again");
    else log.warn({ aheadMs }, "the process's clock differs from the database's, which the server follows");
  });
  on("loopDelay", ({ longestMs }) => {
    if (longestMs > WORTH_A_LINE_MS) log.warn({ ms: Math.round(longestMs) }, "the event loop was blocked");
  });
}

const SAMPLE_EVERY_MS = 20;
const REPORT_EVERY_MS = 1_000;

/** Reports every second for how long the event loop was blocked. Does not keep the process running. */
export function watchLoopDelay(emit: Emit): void {
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });
  delays.enable();
  const report = () => {
    // The monitor counts its own interval as delay, in nanoseconds.
    const longestMs = Math.max(0, delays.max / 1e6 - SAMPLE_EVERY_MS);
    delays.reset();
    emit("loopDelay", { longestMs });
  };
  setInterval(report, REPORT_EVERY_MS).unref();
}

/** Returns a function that makes the log's lines, which are JSON, readable on a terminal. */
export async function prettyLine(colorize: boolean): Promise<(line: string) => string> {
  const { prettyFactory } = await import("pino-pretty");
  return prettyFactory({
    colorize,
    translateTime: "SYS:HH:MM:ss.l",
    // The message contains these fields.
    ignore: "pid,hostname,method,route,status,ms,operation,client",
    singleLine: true,
    // A request's line has no message of its own.
    messageFormat: ({ msg, method, route, status = "no response", ms }) =>
      method === undefined
        ? String(msg ?? "")
        : `${String(method)} ${String(route)} ${String(status)} ${String(ms)} ms`,
  });
}
