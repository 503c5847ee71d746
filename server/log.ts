import { pino, stdSerializers } from "pino";
import sonic from "sonic-boom";
import { withoutPhones } from "./domain/redaction.ts";

/** The largest total size of lines that wait to be written. Further lines are dropped. */
const LIMIT_BYTES = 1_048_576;

/**
 * Creates the log. A log that cannot be written, because its disk is full or its reader has stalled or gone, never
 * affects the service: lines wait in a bounded buffer, writing is retried, and dropped lines are counted. pino's own
 * destination would retry forever when the process exits.
 * @param fd the file descriptor to write to; 1 is the standard output
 * @param format changes each line, which is JSON, for people
 */
export function createLog(level: string, fd: number, format?: (line: string) => string) {
  // Lines are written at least every tenth of a second, because writing each one separately would cost as much as a
  // request.
  const output = new sonic.SonicBoom({ fd, sync: false, minLength: 4_096, maxLength: LIMIT_BYTES, periodicFlush: 100 });
  const log = pino(
    { level, serializers: { err: shownError, detail: (detail: unknown) => shown(detail) } },
    format ? { write: (line) => output.write(format(line)) } : output,
  );
  let dropped = 0;
  output.on("drop", () => (dropped += 1));
  // The next flush retries. This error cannot be logged, because it is an error of the log.
  output.on("error", () => undefined);
  output.on("drain", () => {
    if (dropped === 0) return;
    log.warn({ dropped }, "log lines were dropped because the log could not be written");
    dropped = 0;
  });
  return {
    log,
    /**
     * Resolves with true when the lines so far are written, or when writing fails; with false after `timeoutMs`, when a
     * write is stuck because the reader has stalled.
     */
    flush(timeoutMs: number) {
      return new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), timeoutMs);
        output.flush(() => {
          clearTimeout(timer);
          resolve(true);
        });
      });
    },
  };
}

/** The depth to which an error's own properties are logged. */
const DEEPEST = 4;

/** An error, without the phone numbers that a library or a database may quote in it. */
const shownError = (error: Error): unknown => shown(stdSerializers.err(error));

/** Hides phone numbers in texts and numbers, also within objects. */
function shown(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return withoutPhones(value);
  if (typeof value === "number") return Math.abs(value) < 1e9 ? value : withoutPhones(String(value));
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEEPEST) return "[hidden]";
  if (Array.isArray(value)) return value.map((each) => shown(each, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shown(each, depth + 1)]));
}
