import { verdictOf } from "../webhooks/schedule.ts";
import type { Message } from "../webhooks/send.ts";
import type { Receiver, Response } from "./receivers.ts";
import { ResponseError, Unreachable, type Remote } from "./remote.ts";
import { shaped, shapedItems } from "./shapes.ts";

/** An event of the merchant, with the bytes that its webhook has. */
interface Happened extends Pick<Message, "id" | "body"> {
  event: string;
  reference: string;
}

/** What happens while events are followed, for people and programs. */
export type FollowEvent =
  | { type: "connected" }
  | {
      type: "attempt";
      happened: Happened;
      attempt: number;
      response: Response;
      /** `pending`: there is another attempt, after this time. */
      status: "pending" | "delivered" | "ended" | "exhausted";
      nextInMs?: number;
    }
  | { type: "lost"; reason: string }
  | { type: "reconnected" };

/** The id of the last event that needs no further attempt. */
export interface Cursor {
  /** Undefined if nothing was written yet. */
  read(): string | undefined;
  write(id: string): void;
}

interface Options {
  remote: Remote;
  receiver: Receiver;
  cursor: Cursor;
  /** Sends only these events. */
  wanted?: readonly string[] | undefined;
  tell(event: FollowEvent): void;
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
  /** Ends after the attempt in progress. */
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
    const what = "The response to GET /sandbox/webhook-secret";
    const response = await remote.send("GET", "/sandbox/webhook-secret", undefined, stopping);
    const { secret, previousSecrets: items } = shaped<{ secret: string; previousSecrets: unknown[] }>(what, response, {
      secret: "text",
      previousSecrets: "list",
    });
    const previous = shapedItems<{ secret: string }>(what, { items }, { secret: "text" });
    return [secret, ...previous.map((each) => each.secret)];
  }

  /** Makes attempts until no further one is needed. Resolves with false if it was stopped before. */
  async function deliver(happened: Happened): Promise<boolean> {
    let refusals = 0;
    for (let attempt = 1; !stopping.aborted; attempt += 1) {
      const { id, body } = happened;
      const response = await receiver.receive({ id, body, secrets: await readSecrets() });
      const verdict = verdictOf(response.httpStatus);
      if (response.httpStatus !== undefined) refusals += 1;
      const refused = refusals < MOST_REFUSALS ? "pending" : "exhausted";
      const status = verdict === "failed" ? refused : verdict;
      const nextInMs = pauseAfter(attempt);
      tell({ type: "attempt", happened, attempt, response, status, ...(status === "pending" && { nextInMs }) });
      if (status !== "pending") return true;
      await sleep(nextInMs, stopping);
    }
    return false;
  }

  /** Sends the events after the last one. */
  async function round(): Promise<void> {
    if (last === undefined) advance((await readEvents(remote, stopping, 1)).items[0]?.id ?? "");
    if (!isConnected) tell({ type: "connected" });
    isConnected = true;
    for await (const happened of eventsAfter(remote, stopping, last!)) {
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
      if (stopping.aborted) return;
      if (!isTemporary(error)) throw error;
      if (failures === 0) tell({ type: "lost", reason: (error as Error).message });
      failures += 1;
      await sleep(pauseAfter(failures), stopping);
    }
  }
}

/** Reads a page of the list of events, newest first. */
async function readEvents(remote: Remote, stopping: AbortSignal, limit: number, cursor?: string) {
  const what = "The response to GET /sandbox/events";
  const query = `limit=${limit}${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
  const page = await remote.send("GET", `/sandbox/events?${query}`, undefined, stopping);
  const { nextCursor } = shaped<{ nextCursor?: string }>(what, page, { nextCursor: "text?" });
  const items = shapedItems<{ id: string; reference: string; body: unknown }>(what, page, {
    id: "text",
    reference: "text",
    body: "object",
  });
  const happened = items.map(({ id, reference, body }): Happened => {
    const { event } = shaped<{ event: string }>(`${what}, body,`, body, { event: "text" });
    return { id, event, reference, body: JSON.stringify(body) };
  });
  return { items: happened, nextCursor };
}

/**
 * Reads back from the newest event to this one, then yields the later events, oldest first. A list that does not have the
 * event, because the sandbox was reset or pruned, has only later events. No event appears behind another one later
 * (D51). Pages between are read again, so that only their cursors are kept meanwhile.
 */
async function* eventsAfter(remote: Remote, stopping: AbortSignal, id: string): AsyncGenerator<Happened> {
  const newest = await readEvents(remote, stopping, 1);
  const cursors: string[] = [];
  let page = newest;
  while (!page.items.some((each) => each.id === id) && page.nextCursor !== undefined) {
    cursors.push(page.nextCursor);
    page = await readEvents(remote, stopping, PAGE, page.nextCursor);
  }
  const known = page.items.findIndex((each) => each.id === id);
  yield* page.items.slice(0, known === -1 ? undefined : known).toReversed();
  for (const cursor of cursors.slice(0, -1).toReversed())
    yield* (await readEvents(remote, stopping, PAGE, cursor)).items.toReversed();
  if (cursors.length > 0) yield* newest.items;
}

/** True if the same request may succeed later. A reset of the sandbox ends cursors, which is 422. */
const isTemporary = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof ResponseError && (error.status === 429 || error.status === 422 || error.status >= 500));
