import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";
import { verdictOf } from "../webhooks/schedule.ts";
import { ATTEMPT_TIMEOUT_MS, createSender, type AttemptResult, type Message } from "../webhooks/send.ts";
import { ResponseError, Unreachable, type Remote } from "./remote.ts";

type Schemas = components["schemas"];

/** An event of the merchant, with the bytes that its webhook has. */
interface Happened extends Pick<Message, "id" | "body"> {
  event: string;
  reference: string;
}

/** What happens while events are followed, for people and programs. */
export type FollowEvent =
  | { type: "connected" }
  | ({
      type: "attempt";
      id: string;
      event: string;
      reference: string;
      attempt: number;
      /** `pending`: there is another attempt, after this time. */
      status: "pending" | "delivered" | "ended" | "exhausted";
      nextInMs?: number;
    } & Response)
  | { type: "lost"; reason: string }
  | { type: "reconnected" };

interface Options {
  remote: Remote;
  receiver: Receiver;
  cursor: Cursor;
  /** Sends only these events. */
  wanted?: readonly string[] | undefined;
  tell(event: FollowEvent): void;
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
  /** Ends after the request or attempt in progress. */
  stopping: AbortSignal;
}

const POLL_MS = 1_000;
const PAGE = 100;
/** The first and the longest pause before something is tried again, each twice as long as the one before. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** After this many responses that refuse an event, the next event is sent. */
const MOST_REFUSALS = 5;

const pauseAfter = (failures: number) => Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);

/**
 * Sends each event of a merchant to a receiver, at least once and in order, until it is stopped. Begins after the event
 * of the cursor, or with the next event if there is no cursor yet.
 * @throws ResponseError if the server refuses a request for good
 */
export async function followEvents({
  remote,
  receiver,
  cursor,
  wanted,
  tell,
  sleep,
  stopping,
}: Options): Promise<void> {
  let last = cursor.read();
  let isConnected = false;

  function advance(id: string): void {
    cursor.write(id);
    last = id;
  }

  async function readSecrets(): Promise<string[]> {
    const { secret, previousSecrets } = await remote.send<Schemas["WebhookSecret"]>("GET", "/sandbox/webhook-secret");
    return [secret, ...previousSecrets.map((each) => each.secret)];
  }

  /** Makes attempts until no further one is needed. Resolves with false if it was stopped before. */
  async function deliver(happened: Happened): Promise<boolean> {
    let refusals = 0;
    for (let attempt = 1; !stopping.aborted; attempt += 1) {
      const { body, ...told } = happened;
      const { id } = told;
      const response = await receiver.receive({ id, body, secrets: await readSecrets() });
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
    if (!isConnected) tell({ type: "connected" });
    isConnected = true;
    for await (const happened of eventsAfter(remote, last!)) {
      const isWanted = wanted?.includes(happened.event) ?? true;
      if (stopping.aborted || (isWanted && !(await deliver(happened)))) return;
      advance(happened.id);
    }
  }

  let failures = 0;
  while (!stopping.aborted) {
    try {
      await round();
      if (failures > 0) tell({ type: "reconnected" });
      failures = 0;
      await sleep(POLL_MS, stopping);
    } catch (error) {
      if (!isTemporary(error)) throw error;
      if (failures === 0) tell({ type: "lost", reason: (error as Error).message });
      failures += 1;
      await sleep(pauseAfter(failures), stopping);
    }
  }
}

/** Reads a page of the list of events, newest first. */
async function readEvents(remote: Remote, limit: number, cursor?: string) {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) });
  const page = await remote.send<Schemas["SandboxEventList"]>("GET", `/sandbox/events?${query}`);
  const items = page.items.map(({ id, reference, body }): Happened => {
    return { id, event: body.event, reference, body: JSON.stringify(body) };
  });
  return { items, nextCursor: page.nextCursor };
}

/**
 * Reads back from the newest event to this one, then yields the later events, oldest first. A list that does not have the
 * event, because the sandbox was reset or pruned, has only later events. No event appears behind another one later
 * (D42). Pages between are read again, so that only their cursors are kept meanwhile.
 */
async function* eventsAfter(remote: Remote, id: string): AsyncGenerator<Happened> {
  const newest = await readEvents(remote, 1);
  const cursors: string[] = [];
  let page = newest;
  while (!page.items.some((each) => each.id === id) && page.nextCursor !== undefined) {
    cursors.push(page.nextCursor);
    page = await readEvents(remote, PAGE, page.nextCursor);
  }
  const known = page.items.findIndex((each) => each.id === id);
  yield* page.items.slice(0, known === -1 ? undefined : known).toReversed();
  for (const cursor of cursors.slice(0, -1).toReversed())
    yield* (await readEvents(remote, PAGE, cursor)).items.toReversed();
  if (cursors.length > 0) yield* newest.items;
}

/** True if the same request may succeed later. A reset of the sandbox ends cursors, which is 422. */
const isTemporary = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof ResponseError && (error.status === 429 || error.status === 422 || error.status >= 500));

/** A receiver's response to a webhook, or the reason for its absence. */
export type Response = Omit<AttemptResult, "sentAt">;

/** The receiver to which `listen` passes webhooks. It never rejects. */
export interface Receiver {
  receive(webhook: Omit<Message, "url">): Promise<Response>;
  close(): Promise<void>;
}

/** Sends webhooks to an address that this machine can reach, as the server would. */
export function forwardTo(url: string): Receiver {
  const sender = createSender({
    allowPrivate: true,
    allowInsecure: true,
    lookup: hostsLookup(dnsLookup()),
    now: Date.now,
  });
  return {
    async receive(webhook) {
      const { sentAt: _, ...response } = await sender.send({ url, ...webhook });
      return response;
    },
    close: sender.close,
  };
}

/** A receiver that forwards nothing and responds with this status after this delay. */
export function respondWith({ status = 200, delayMs = 0 }: { status?: number; delayMs?: number }): Receiver {
  return {
    async receive() {
      await wait(Math.min(delayMs, ATTEMPT_TIMEOUT_MS));
      return delayMs < ATTEMPT_TIMEOUT_MS
        ? { httpStatus: status, latencyMs: delayMs }
        : { latencyMs: ATTEMPT_TIMEOUT_MS, error: `No response within ${ATTEMPT_TIMEOUT_MS / 1_000} s.` };
    },
    close: async () => undefined,
  };
}

/** The id of the last event that needs no further attempt. */
export interface Cursor {
  /** Undefined if nothing was written yet. */
  read(): string | undefined;
  write(id: string): void;
}

/**
 * The file in which `listen` keeps its cursor.
 * @param what the server, the API key, the receiver and the chosen events: none may move the cursor of another
 */
export function cursorPath({ XDG_STATE_HOME: state }: NodeJS.ProcessEnv, ...what: string[]): string {
  const name = createHash("sha256").update(what.join("\n")).digest("hex").slice(0, 32);
  return join(state || join(homedir(), ".local", "state"), "disbursement-checkout", `listen-${name}`);
}

/** A cursor in a file that survives a crash of this program. */
export function cursorFile(path: string): Cursor {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return {
    read() {
      try {
        return readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    write(id) {
      const temporary = `${path}.new`;
      writeFileSync(temporary, id, { mode: 0o600, flush: true });
      renameSync(temporary, path);
    },
  };
}
