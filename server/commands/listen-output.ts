import { styleText } from "node:util";
import type { FollowEvent } from "./follow.ts";
import { printable, printableJson } from "./printable.ts";

type Attempt = Extract<FollowEvent, { type: "attempt" }>;
type Print = (event: FollowEvent) => string;

const afterMs = (now: Date, ms: number | undefined) =>
  ms === undefined ? undefined : new Date(now.getTime() + ms).toISOString();

function jsonView(event: FollowEvent, now: Date): object {
  const time = now.toISOString();
  if (event.type !== "attempt") return { time, ...event };
  const { happened, attempt, response, status, nextInMs } = event;
  const { id, event: name, reference } = happened;
  const nextAttemptAt = afterMs(now, nextInMs);
  return { time, type: "attempt", id, event: name, reference, attempt, ...response, status, nextAttemptAt };
}

/** Prints one JSON object per line. */
export const printJson =
  (now: () => Date): Print =>
  (event) =>
    printableJson(jsonView(event, now()));

/** Prints lines for people. @param color false for text without escape sequences */
export function printLines(now: () => Date, color: boolean): Print {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;

  function attemptLine({ happened, attempt, response, status, nextInMs }: Attempt): string {
    const { event, reference } = happened;
    const { httpStatus, latencyMs, error } = response;
    const result = httpStatus?.toString() ?? error ?? "no response";
    const time = now().toTimeString().slice(0, 8);
    const number = attempt > 1 ? `attempt ${attempt}` : "";
    const after = { pending: `again in ${nextInMs! / 1_000} s`, delivered: "", ended: "ended", exhausted: "given up" };
    const parts = [time, event.padEnd(22), reference, result, `${latencyMs} ms`, number, after[status]];
    const line = printable(parts.filter((part) => part !== "").join("  "));
    return paint(status === "delivered" ? "green" : "red", line);
  }

  return (event) => {
    switch (event.type) {
      case "attempt":
        return attemptLine(event);
      case "connected":
        return "Connected. Your events arrive here. Press Ctrl-C to end.";
      case "lost":
        return paint("yellow", printable(`Connection lost: ${event.reason} Trying again; nothing is lost.`));
      case "reconnected":
        return paint("green", "Connected again.");
    }
  };
}
