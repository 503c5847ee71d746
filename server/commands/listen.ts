import { styleText } from "node:util";
import { createSystemClock } from "../domain/clock.ts";
import { parseTarget } from "../webhooks/guard.ts";
import {
  meaningsOf,
  parseOptions,
  PROGRAM,
  UsageError,
  printable,
  printableJson,
  type OptionValues,
  type Printer,
} from "./command.ts";
import {
  cursorFile,
  cursorPath,
  followEvents,
  forwardTo,
  respondWith,
  type FollowEvent,
  type Receiver,
} from "./follow.ts";
import { createRemote, eventNamed, REMOTE_OPTIONS, requireSandbox } from "./remote.ts";

const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000 };

function address(text: string): string {
  const url = text.includes("://") ? text : `http://${text}`;
  try {
    parseTarget(url, true);
  } catch {
    throw new Error("--forward-to must be an address such as http://127.0.0.1:4000/webhooks or localhost:4000.");
  }
  return url;
}

const eventNames = (text: string) => text.split(",").map((name) => eventNamed(name.trim()));

function parseStatus(text: string): number {
  if (/^[2-5]\d\d$/.test(text)) return Number(text);
  throw new Error("--status must be an HTTP status from 200 to 599, such as 500.");
}

function duration(text: string): number {
  const [, count, unit] = /^(\d{1,6})(ms|s)$/.exec(text) ?? [];
  if (unit !== undefined) return Number(count) * UNITS_MS[unit]!;
  throw new Error("--delay must be a number of seconds or milliseconds, such as 2s or 500ms.");
}

const OPTIONS = {
  "forward-to": {
    value: "URL",
    parse: address,
    meaning: "where the receiver listens, such as localhost:4000/webhooks",
  },
  events: {
    value: "NAMES",
    parse: eventNames,
    meaning: "forward these only, separated by commas",
  },
  status: {
    value: "STATUS",
    parse: parseStatus,
    meaning: "forward nothing; respond with this status to every webhook",
  },
  delay: { value: "TIME", parse: duration, meaning: "forward nothing; respond after this time, such as 2s" },
  json: { meaning: "print one JSON object per line" },
  ...REMOTE_OPTIONS,
} as const;

export const USAGE = `Usage: ${PROGRAM} listen --forward-to URL

Sends the sandbox's events to a receiver on this machine, which needs no public address: signed like webhooks, each at
least once and in order. It goes on where it ended before, whatever ended it, for each receiver and choice of events.

${meaningsOf(OPTIONS)}`;

const currentTime = () => new Date();

/** `disbursement-checkout listen`. Resolves with the exit code when it was stopped. */
export async function listen(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<0> {
  const { positionals, values } = parseOptions(OPTIONS, args, USAGE);
  const receiver = positionals.length === 0 ? receiverOf(values) : undefined;
  if (!receiver) throw new UsageError(USAGE);
  const remote = createRemote(values, env);
  await requireSandbox(remote);
  const stopping = new AbortController();
  // A second signal ends the process at once.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const print = values.json ? printJson(currentTime) : printLines(currentTime, process.stdout.isTTY && !env.NO_COLOR);
  const { "forward-to": url = "no receiver", events = [] } = values;
  const path = cursorPath(env, remote.baseUrl, remote.key, url, ...events.toSorted());
  if (!values.json) printer.log(introduction(values, remote.baseUrl, path));
  try {
    await followEvents({
      remote,
      receiver,
      cursor: cursorFile(path),
      wanted: values.events,
      stopping: stopping.signal,
      tell: (event) => printer.log(print(event)),
      sleep: createSystemClock().sleep,
    });
    return 0;
  } finally {
    await receiver.close();
  }
}

function receiverOf({ "forward-to": url, status, delay }: OptionValues<typeof OPTIONS>): Receiver | undefined {
  const answers = status !== undefined || delay !== undefined;
  if (answers === (url !== undefined)) return undefined;
  if (url !== undefined) return forwardTo(url);
  return respondWith({ ...(status !== undefined && { status }), ...(delay !== undefined && { delayMs: delay }) });
}

function introduction({ "forward-to": url }: OptionValues<typeof OPTIONS>, baseUrl: string, path: string): string {
  return [
    url === undefined ? "Responding to webhooks without forwarding them." : `Forwarding webhooks to ${url}`,
    "Your receiver verifies them with your webhook secret. To see it, run one of these:",
    `  curl ${baseUrl}/sandbox/webhook-secret -H "x-api-key: $API_KEY"`,
    `  ${PROGRAM} keys secret MERCHANT`,
    `The last event that was delivered is in ${path}. Without this file, and with another API key, listen begins with the next event.`,
  ].join("\n");
}

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
