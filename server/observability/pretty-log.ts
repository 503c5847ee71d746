import { prettyFactory } from "pino-pretty";

/** Returns a function that makes the log's lines, which are JSON, readable on a terminal. */
export function prettyLine(colorize: boolean): (line: string) => string {
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
