import { styleText } from "node:util";
import type { ListenerEvent } from "./listener.ts";
import { printable, printableJson } from "./printable.ts";
import { isSkipped } from "./receivers.ts";
import { PROGRAM } from "./command.ts";

type Attempt = Extract<ListenerEvent, { type: "attempt" }>;
type Print = (event: ListenerEvent) => string[];

/** Returns what happened as an object with the fields of the contract. */
function jsonView(event: ListenerEvent, time: string): object {
  if (event.type !== "attempt") return { time, ...event };
  const { id, event: name, reference, attempt } = event.delivery;
  const skipped = isSkipped(event.response) && { skipped: true };
  return {
    time,
    type: "attempt",
    id,
    event: name,
    reference,
    attempt,
    ...event.response,
    ...skipped,
    ...event.recorded,
  };
}

/** Prints one JSON object per line. */
export const printJson =
  (now: () => Date): Print =>
  (event) => [printableJson(jsonView(event, now().toISOString()))];

/** Prints lines for people. @param color false for text without escape sequences */
export function printLines(now: () => Date, color: boolean): Print {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;

  function attemptLine({ delivery, response, recorded }: Attempt): string {
    const { event, reference, attempt } = delivery;
    const { httpStatus, latencyMs, error } = response;
    const result = isSkipped(response) ? "skipped" : (httpStatus?.toString() ?? error ?? "no response");
    const good = recorded?.status === "delivered";
    const time = now().toTimeString().slice(0, 8);
    const number = attempt > 1 ? `attempt ${attempt}` : "";
    const parts = [time, event.padEnd(22), reference, result, `${latencyMs} ms`, number, outcome(recorded)];
    const line = printable(parts.filter((part) => part !== "").join("  "));
    return isSkipped(response) ? paint("dim", line) : paint(good ? "green" : "red", line);
  }

  return (event) => {
    switch (event.type) {
      case "attempt":
        return [attemptLine(event)];
      case "connected":
        return connectedLines(event).map(printable);
      case "lost":
        return [paint("yellow", printable(`Connection lost: ${event.reason} Trying again; nothing is lost.`))];
      case "reconnected":
        return [paint("green", "Connected again.")];
      case "replaced":
        return [
          `Another listener of this merchant has taken over, so this listener ends. To take over from it, run \`${PROGRAM} ` +
            "listen` again.",
        ];
    }
  };
}

/** The consequence of an attempt that did not deliver, in words. */
function outcome(recorded: Attempt["recorded"]): string {
  if (recorded === undefined) return "deleted by a reset";
  const { counted, status, nextAttemptAt } = recorded;
  if (!counted) return "reported too late; it is attempted again";
  if (nextAttemptAt !== undefined) return `next attempt at ${nextAttemptAt} (sandbox time)`;
  return status === "delivered" ? "" : status === "ended" ? "no further attempts (410)" : "given up";
}

function connectedLines({ replaced, defaultWebhookURL }: Extract<ListenerEvent, { type: "connected" }>): string[] {
  return [
    ...(replaced === undefined ? [] : [`Took over from the listener ${replaced}, which ends now.`]),
    ...(defaultWebhookURL === undefined
      ? []
      : [`The default address ${defaultWebhookURL} gets no events while this listener is connected.`]),
    "Connected. Events of payments without a webhookURL arrive here. Press Ctrl-C to end.",
  ];
}
