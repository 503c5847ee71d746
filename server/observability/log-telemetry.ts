import type { Logger } from "pino";
import type { Telemetry } from "../domain/telemetry.ts";

/** Writes the log's lines about requests, attempts, the storage and the clock. */
export function logTelemetry({ on }: Pick<Telemetry, "on">, log: Logger): void {
  on("request", ({ durationMs, ...request }) => log.info({ ...request, ms: Math.round(durationMs * 10) / 10 }));
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
}

/** Returns a function that makes the log's lines, which are JSON, readable on a terminal. */
export async function prettyLine(): Promise<(line: string) => string> {
  const { prettyFactory } = await import("pino-pretty");
  return prettyFactory({
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
