import { createSystemClock } from "../domain/clock.ts";
import { parseTarget } from "../webhooks/guard.ts";
import { PROGRAM, printable, printableJson, UsageError } from "./command.ts";
import { cursorFile, cursorPath, followEvents, forwardTo, respondWith, type FollowEvent } from "./follow.ts";
import { matching } from "./options.ts";
import { eventNamed, remoteCommand } from "./remote.ts";

function address(text: string): string | undefined {
  const url = text.includes("://") ? text : `http://${text}`;
  try {
    parseTarget(url, true);
    return url;
  } catch {
    return undefined;
  }
}

const duration = matching(/^\d{1,6}m?s$/, (text) => Number.parseInt(text, 10) * (text.endsWith("ms") ? 1 : 1_000));

const OPTIONS = {
  "forward-to": {
    value: "URL",
    parse: address,
    meaning: "where the receiver listens, such as localhost:4000/webhooks",
  },
  events: {
    value: "NAMES",
    parse: (text: string) => text.split(",").map((name) => eventNamed(name.trim())),
    meaning: "forward these only, separated by commas",
  },
  status: {
    value: "STATUS",
    parse: matching(/^[2-5]\d\d$/, Number),
    meaning: "forward nothing; respond with this HTTP status, 200 to 599, to every webhook",
  },
  delay: { value: "TIME", parse: duration, meaning: "forward nothing; respond after this time, such as 2s or 500ms" },
  json: { meaning: "print one JSON object per line" },
} as const;

/** `disbursement-checkout listen` ends when it is stopped. */
export const listen = remoteCommand("listen", {
  takes: "[--forward-to] [--events] [--status] [--delay] [--json]",
  summary: `Sends the sandbox's events to a receiver on this machine, which needs no public address: signed like webhooks, each at
least once and in order. It goes on where it ended before, whatever ended it, for each receiver and choice of events.`,
  options: OPTIONS,
  async run({ env, printer, connect }, { forwardTo: url, events = [], status, delay, json }) {
    const answers = status !== undefined || delay !== undefined;
    if (answers === (url !== undefined)) throw new UsageError("Give --forward-to URL, or else --status or --delay.");
    const receiver = url === undefined ? respondWith({ status, delayMs: delay }) : forwardTo(url);
    try {
      const remote = await connect();
      const stopping = new AbortController();
      // A second signal ends the process at once.
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
      const path = cursorPath(env, remote.baseUrl, remote.key, url ?? "no receiver", ...events.toSorted());
      if (!json) printer.log(introduction(url, remote.baseUrl, path));
      await followEvents({
        remote,
        receiver,
        cursor: cursorFile(path),
        wanted: events.length > 0 ? events : undefined,
        stopping: stopping.signal,
        tell: (event) => printer.log((json ? jsonOf : lineOf)(event, new Date())),
        sleep: createSystemClock().sleep,
      });
    } finally {
      await receiver.close();
    }
  },
});

function introduction(url: string | undefined, baseUrl: string, path: string): string {
  return [
    url === undefined ? "Responding to webhooks without forwarding them." : `Forwarding webhooks to ${url}`,
    "Your receiver verifies them with your webhook secret. To see it, run one of these:",
    `  curl ${baseUrl}/sandbox/webhook-secret -H "x-api-key: $API_KEY"`,
    `  ${PROGRAM} keys secret MERCHANT`,
    `The last event that was delivered is in ${path}. Without this file, and with another API key, listen begins with the next event.`,
  ].join("\n");
}

/** What happens, for people. A failed attempt says what follows. */
export function lineOf(event: FollowEvent, now: Date): string {
  switch (event.type) {
    case "attempt": {
      const { event: name, reference, httpStatus, error, latencyMs, attempt, status, nextInMs } = event;
      const result = httpStatus?.toString() ?? error ?? "no response";
      const after = {
        pending: `again in ${nextInMs! / 1_000} s`,
        delivered: "",
        ended: "ended",
        exhausted: "given up",
      };
      const number = attempt > 1 ? `attempt ${attempt}` : "";
      const time = now.toTimeString().slice(0, 8);
      const parts = [time, name.padEnd(22), reference, result, `${latencyMs} ms`, number, after[status]];
      return printable(parts.filter((part) => part !== "").join("  "));
    }
    case "connected":
      return "Connected. Your events arrive here. Press Ctrl-C to end.";
    case "lost":
      return printable(`Connection lost: ${event.reason} Trying again; nothing is lost.`);
    case "reconnected":
      return "Connected again.";
  }
}

/** The same for programs: a JSON object. */
export const jsonOf = (event: FollowEvent, now: Date): string => printableJson({ time: now.toISOString(), ...event });
