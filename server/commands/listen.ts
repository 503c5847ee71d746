import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import { createSystemClock } from "../domain/clock.ts";
import { parseTarget } from "../webhooks/guard.ts";
import { meaningsOf, parseOptions, PROGRAM, UsageError, type OptionValues } from "./command.ts";
import { cursorFile, cursorPath } from "./cursor-file.ts";
import { followEvents } from "./follow.ts";
import { printJson, printLines } from "./listen-output.ts";
import { nearest } from "./nearest.ts";
import { forwardTo, respondWith, type Receiver } from "./receivers.ts";
import { createRemote, REMOTE_OPTIONS, requireSandbox } from "./remote.ts";

type EventName = components["schemas"]["EventName"];

const EVENTS = document.components.schemas.EventName.enum as EventName[];
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

function eventNames(text: string): EventName[] {
  return text.split(",").map((name) => {
    const found = EVENTS.find((event) => event === name.trim());
    if (!found) throw new Error(`There is no event ${name.trim()}. Did you mean ${nearest(name.trim(), EVENTS)}?`);
    return found;
  });
}

function httpStatus(text: string): number {
  if (/^[2-5]\d\d$/.test(text)) return Number(text);
  throw new Error("--status must be an HTTP status from 200 to 599, such as 500.");
}

function duration(text: string): number {
  const [, count, unit] = /^(\d{1,6})(ms|s)$/.exec(text) ?? [];
  if (unit !== undefined) return Number(count) * UNITS_MS[unit]!;
  throw new Error("--delay must be a number of seconds or milliseconds, such as 2s or 500ms.");
}

const flag = (): true => true;

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
  status: { value: "STATUS", parse: httpStatus, meaning: "forward nothing; respond with this status to every webhook" },
  delay: { value: "TIME", parse: duration, meaning: "forward nothing; respond after this time, such as 2s" },
  json: { parse: flag, meaning: "print one JSON object per line" },
  ...REMOTE_OPTIONS,
} as const;

export const USAGE = `Usage: ${PROGRAM} listen --forward-to URL

Sends the sandbox's events to a receiver on this machine, which needs no public address: signed like webhooks, each at
least once and in order. It goes on where it ended before, whatever ended it, for each receiver and choice of events.

${meaningsOf(OPTIONS)}`;

const now = () => new Date();

/** `disbursement-checkout listen`. Resolves with the exit code when it was stopped. */
export async function listen(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { positionals, values } = parseOptions(OPTIONS, args, USAGE);
  const receiver = positionals.length === 0 ? receiverOf(values) : undefined;
  if (!receiver) throw new UsageError(USAGE);
  const remote = createRemote(values, env);
  await requireSandbox(remote);
  const stopping = new AbortController();
  // A second signal ends the process at once.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const print = values.json ? printJson(now) : printLines(now, process.stdout.isTTY && !env.NO_COLOR);
  const { "forward-to": url = "no receiver", events = [] } = values;
  const path = cursorPath(env, remote.baseUrl, remote.key, url, ...events.toSorted());
  if (!values.json) console.log(introduction(values, remote.baseUrl, path));
  try {
    await followEvents({
      remote,
      receiver,
      cursor: cursorFile(path),
      wanted: values.events,
      stopping: stopping.signal,
      tell: (event) => console.log(print(event)),
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
