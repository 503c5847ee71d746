import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { components } from "../../generated/openapi.ts";
import { createSystemClock } from "../domain/clock.ts";
import type { DeliveryStatus } from "../domain/deliveries.ts";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";
import { verdictOf } from "../webhooks/schedule.ts";
import { createSender, type AttemptResult, type Message } from "../webhooks/send.ts";
import { PROGRAM, printable, printableJson } from "./command.ts";
import { connectToSandbox, RemoteError, type Remote } from "./remote.ts";
import { commands } from "./run.ts";

/** `disbursement-checkout listen` ends when it is stopped. */
export const listenCommand = commands({
  "listen --forward-to [--events] [--base-url] [--api-key-file]": {
    summary: `Send the sandbox's events to a receiver on this machine, which needs no public address: signed like webhooks, each at
least once and in order. It goes on where it ended before, whatever ended it, for each receiver and choice of events.`,
    async runAtSandbox({ env, printer }, { forwardTo: url, events = [], json, ...from }) {
      const remote = await connectToSandbox(from, env);
      const { send, close } = forwardTo(url);
      const stopping = new AbortController();
      // A second signal ends the process at once.
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
      const cursor = cursorFile(env, remote.baseUrl, remote.key, url, ...events.toSorted());
      if (!json) printer.log(introduction(url, remote.baseUrl, cursor.path));
      await followEvents({
        remote,
        send,
        cursor,
        wanted: events.length > 0 ? events : undefined,
        stopping: stopping.signal,
        tell: (event) => printer.log((json ? jsonOf : lineOf)(event, new Date())),
        sleep: createSystemClock().sleep,
      }).finally(close);
    },
  },
});

function introduction(url: string, baseUrl: string, path: string): string {
  return [
    `Forwarding webhooks to ${url}`,
    "Your receiver verifies them with your webhook secret. To see it, run one of these:",
    `  curl ${baseUrl}/sandbox/webhook-secret -H "x-api-key: $API_KEY"`,
    `  ${PROGRAM} keys secret MERCHANT`,
    `The last event that was delivered is in ${path}. Without this file, and with another API key, listen begins with the next event.`,
  ].join("\n");
}

/** What happens, for people. A failed attempt says what follows. */
export function lineOf(event: FollowProgress, now: Date): string {
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
  }
}

/** The same for programs: a JSON object. */
export const jsonOf = (event: FollowProgress, now: Date): string =>
  printableJson({ time: now.toISOString(), ...event });

type Schemas = components["schemas"];

/** An event of the merchant, with the bytes that its webhook has. */
interface ListedEvent extends Pick<Message, "id" | "body"> {
  event: string;
  reference: string;
}

/** What happens while events are followed, for people and programs. */
export type FollowProgress =
  /** At the beginning, and again after a connection was lost. */
  | { type: "connected" }
  | ({
      type: "attempt";
      attempt: number;
      /** `pending`: there is another attempt, after this time. */
      status: DeliveryStatus;
      nextInMs?: number;
    } & Omit<ListedEvent, "body"> &
      Omit<AttemptResult, "sentAt">)
  | { type: "lost"; reason: string };

interface Options {
  remote: Remote;
  /** Sends a webhook to the receiver. Never rejects. */
  send(webhook: Omit<Message, "url">): Promise<AttemptResult>;
  /** The id of the last event that needs no further attempt; undefined if there was none yet. */
  cursor: { read(): string | undefined; write(id: string): void };
  /** Sends only these events. */
  wanted?: readonly string[] | undefined;
  tell(event: FollowProgress): void;
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
  /** Ends after the request or attempt in progress. */
  stopping: AbortSignal;
}

const POLL_MS = 1_000;
const PAGE = 100;
/** After this many responses that refuse an event, the next event is sent. */
const MOST_REFUSALS = 5;

/** The pause before something is tried again, in milliseconds: each is twice as long as the one before. */
const pauseAfter = (failures: number) => Math.min(1_000 * 2 ** (failures - 1), 30_000);

/**
 * Sends each event of a merchant to a receiver, at least once and in order, until it is stopped. Begins after the event
 * of the cursor, or with the next event if there is no cursor yet.
 * @throws RemoteError if the server refuses a request for good
 */
export async function followEvents({ remote, send, cursor, wanted, tell, sleep, stopping }: Options): Promise<void> {
  let last = cursor.read();
  let isConnected = false;
  let failures = 0;

  function advance(id: string): void {
    cursor.write(id);
    last = id;
  }

  async function readSecrets(): Promise<string[]> {
    const { secret, previousSecrets } = await remote.send<Schemas["WebhookSecret"]>("GET", "/sandbox/webhook-secret");
    return [secret, ...previousSecrets.map((each) => each.secret)];
  }

  /** Makes attempts until no further one is needed. Resolves with false if it was stopped before. */
  async function deliver({ body, ...told }: ListedEvent): Promise<boolean> {
    let refusals = 0;
    for (let attempt = 1; !stopping.aborted; attempt += 1) {
      const { sentAt: _, ...response } = await send({ id: told.id, body, secrets: await readSecrets() });
      const verdict = verdictOf(response.httpStatus);
      if (response.httpStatus !== undefined) refusals += 1;
      const refused = refusals < MOST_REFUSALS ? "pending" : "exhausted";
      const status = verdict === "failed" ? refused : verdict;
      const nextInMs = pauseAfter(attempt);
      tell({ type: "attempt", ...told, attempt, ...response, status, ...(status === "pending" && { nextInMs }) });
      if (status !== "pending") return true;
      await sleep(nextInMs, stopping);
    }
    return false;
  }

  /** Sends the events after the last one. */
  async function round(): Promise<void> {
    if (last === undefined) advance((await readEvents(remote, 1)).items[0]?.id ?? "");
    const later = await eventsAfter(remote, last!);
    if (!isConnected) tell({ type: "connected" });
    [isConnected, failures] = [true, 0];
    for (const event of later) {
      const isWanted = wanted?.includes(event.event) ?? true;
      if (stopping.aborted || (isWanted && !(await deliver(event)))) return;
      advance(event.id);
    }
  }

  while (!stopping.aborted) {
    try {
      await round();
      await sleep(POLL_MS, stopping);
    } catch (error) {
      if (!isTemporary(error)) throw error;
      if (failures === 0) tell({ type: "lost", reason: (error as Error).message });
      isConnected = false;
      failures += 1;
      await sleep(pauseAfter(failures), stopping);
    }
  }
}

/** Reads a page of the list of events, newest first. */
async function readEvents(remote: Remote, limit: number, cursor?: string) {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) });
  const page = await remote.send<Schemas["SandboxEventList"]>("GET", `/sandbox/events?${query}`);
  const items = page.items.map(({ id, reference, body }): ListedEvent => {
    return { id, event: body.event, reference, body: JSON.stringify(body) };
  });
  return { items, nextCursor: page.nextCursor };
}

/**
 * Reads back from the newest event to this one. Resolves with the later events, oldest first. A list that does not have
 * the event, because the sandbox was reset or old events were deleted, has only later events. A new event never appears
 * behind an older one (D42).
 */
async function eventsAfter(remote: Remote, id: string): Promise<ListedEvent[]> {
  const later: ListedEvent[] = [];
  let page = await readEvents(remote, 1);
  for (;;) {
    const known = page.items.findIndex((each) => each.id === id);
    later.push(...page.items.slice(0, known === -1 ? undefined : known));
    if (known !== -1 || page.nextCursor === undefined) return later.toReversed();
    page = await readEvents(remote, PAGE, page.nextCursor);
  }
}

/** True if the same request may succeed later. A reset of the sandbox ends cursors, which is 422. */
const isTemporary = (error: unknown): boolean =>
  error instanceof RemoteError &&
  (error.status === undefined || [422, 429].includes(error.status) || error.status >= 500);

/** Sends webhooks to an address that this machine can reach, as the server would. */
export function forwardTo(url: string) {
  const lookup = hostsLookup(dnsLookup());
  const { send, close } = createSender({ allowPrivate: true, allowInsecure: true, lookup, now: Date.now });
  return { send: (webhook: Omit<Message, "url">) => send({ url, ...webhook }), close };
}

/**
 * Keeps the cursor in a file, which survives a crash of this program.
 * @param what the server, the API key, the receiver and the chosen events: none may move the cursor of another
 */
export function cursorFile({ XDG_STATE_HOME: state }: NodeJS.ProcessEnv, ...what: string[]) {
  const name = hash("sha256", what.join("\n")).slice(0, 32);
  const path = join(state || join(homedir(), ".local", "state"), "disbursement-checkout", `listen-${name}`);
  return {
    path,
    read: () => (existsSync(path) ? readFileSync(path, "utf8") : undefined),
    write(id: string) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const temporary = `${path}.new`;
      writeFileSync(temporary, id, { mode: 0o600, flush: true });
      renameSync(temporary, path);
    },
  };
}
