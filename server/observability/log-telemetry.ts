import type { Logger } from "pino";
import type { Telemetry } from "../domain/telemetry.ts";

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
