import { setTimeout as pause } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import type { ClaimedDelivery, Receiver, Response } from "./receivers.ts";
import { ResponseError, Unreachable, type Remote } from "./remote.ts";
import { shaped, shapedItems } from "./shapes.ts";

type Schemas = components["schemas"];

/** What happens to a listener, for people and programs. */
export type ListenerEvent =
  | ({ type: "connected" } & Omit<Schemas["ListenerSession"], "session">)
  | { type: "attempt"; delivery: ClaimedDelivery; response: Response; recorded: Schemas["AttemptRecorded"] | undefined }
  | { type: "lost"; reason: string }
  | { type: "reconnected" }
  | { type: "replaced" };

interface Options {
  remote: Remote;
  receiver: Receiver;
  /** The listener's name, for people. */
  name: string;
  /** Called with everything that happens. `recorded` of an attempt is undefined if a reset has deleted its delivery. */
  tell(event: ListenerEvent): void;
  /** Ends the listener. Attempts in progress are finished and reported first. */
  stopping: AbortSignal;
}

/** The most attempts in progress. */
const CONCURRENCY = 20;
const WAIT_SECONDS = 10;
/** The interval of searches while no attempt can begin, in milliseconds. A search renews the claims. */
const RENEW_EVERY_MS = 5_000;
/** The pauses before requests are repeated, in milliseconds. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** How long reports are repeated after the listener was told to end, in milliseconds. */
const LAST_REPORTS_MS = 5_000;
/** The largest numbers that the contract allows. */
const LONGEST_LATENCY_MS = 60_000;
const LONGEST_AGO_MS = 86_400_000;

const CONNECT = "/sandbox/listener";
const CLAIMS = "/sandbox/listener/claims";
const ATTEMPTS = "/sandbox/listener/attempts";
const SESSION = { session: "text", replaced: "text?", defaultWebhookURL: "text?" } as const;
const RECORDED = { counted: "yes or no", status: "text", nextAttemptAt: "text?" } as const;
const CLAIMED = {
  id: "text",
  token: "count",
  event: "text",
  reference: "text",
  attempt: "count",
  headers: "texts by name",
  body: "content",
} as const;

const readRecorded = (response: unknown) =>
  shaped<Schemas["AttemptRecorded"]>(`The response to POST ${ATTEMPTS}`, response, RECORDED);

/** Makes webhook attempts in place of the server until it is stopped or replaced (D69). */
export async function runListener(options: Options): Promise<"stopped" | "replaced"> {
  const { remote, receiver, name, tell, stopping } = options;
  const patiently = createPatience(options);
  /** The token of each delivery whose attempt is in progress or not yet reported. */
  const holding = new Map<string, number>();
  const attempts = new Set<Promise<void>>();

  /** Makes and reports an attempt. If the delivery is claimed again meanwhile, the attempt counts for the new claim. */
  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const { id } = delivery;
    const begun = performance.now();
    const response = await receiver.receive(delivery);
    const latencyMs = Math.min(Math.round(response.latencyMs), LONGEST_LATENCY_MS);
    const recorded = await patiently<Schemas["AttemptRecorded"] | undefined>(() => {
      const sentMsAgo = Math.min(Math.round(performance.now() - begun), LONGEST_AGO_MS);
      const report = { id, token: holding.get(id), sentMsAgo, ...response, latencyMs };
      return remote.send("POST", ATTEMPTS, report).then(readRecorded, unlessReset);
    }, LAST_REPORTS_MS);
    tell({ type: "attempt", delivery, response, recorded });
  }

  /** Begins an attempt, unless it is in progress. More deliveries than were requested are not attempted. */
  function start(delivery: ClaimedDelivery): boolean {
    const { id, token } = delivery;
    const isUnderway = holding.has(id);
    if (!isUnderway && attempts.size >= CONCURRENCY) return false;
    holding.set(id, token);
    if (isUnderway) return false;
    // A permanent error also ends the next search, which reports it. The delivery is attempted again later.
    const ended = attempt(delivery)
      .catch(() => undefined)
      .finally(() => {
        holding.delete(id);
        attempts.delete(ended);
      });
    attempts.add(ended);
    return true;
  }

  async function search(session: string): Promise<void> {
    if (attempts.size >= CONCURRENCY) await Promise.race([...attempts, pause(RENEW_EVERY_MS)]);
    const room = CONCURRENCY - attempts.size;
    const items = await patiently<ClaimedDelivery[]>(async () => {
      const held = [...holding].map(([id, token]) => ({ id, token }));
      const body = { session, limit: room, waitSeconds: room > 0 ? WAIT_SECONDS : 0, holding: held };
      return shapedItems(`The response to POST ${CLAIMS}`, await remote.send("POST", CLAIMS, body, stopping), CLAIMED);
    });
    const begun = items.filter(start);
    // A server that is about to stop responds at once.
    if (begun.length === 0) await pause(FIRST_PAUSE_MS, undefined, { signal: stopping }).catch(() => undefined);
  }

  const { session, ...connected } = await patiently<Schemas["ListenerSession"]>(async () => {
    const response = await remote.send("POST", CONNECT, { name, url: receiver.url }, stopping);
    return shaped(`The response to POST ${CONNECT}`, response, SESSION);
  });
  tell({ type: "connected", ...connected });
  let isReplaced = false;
  while (!stopping.aborted && !isReplaced) {
    await search(session).catch((error: unknown) => {
      isReplaced = error instanceof ResponseError && error.code === "listener_replaced";
      if (!isReplaced && !stopping.aborted) throw error;
    });
  }
  if (isReplaced) tell({ type: "replaced" });
  await Promise.all(attempts);
  // If this fails, the server notices the missing searches.
  await remote.send("POST", "/sandbox/listener/disconnect", { session }).catch(() => undefined);
  return isReplaced ? "replaced" : "stopped";
}

/** A reset deletes deliveries, also those that are being attempted. */
function unlessReset(error: unknown): undefined {
  if (error instanceof ResponseError && error.code === "not_found") return undefined;
  throw error;
}

/** True if the same request may succeed later. */
const isTemporary = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ResponseError && (error.status === 429 || error.status >= 500));

/**
 * Returns a function that repeats a request while the server does not respond. Reports once that the connection was
 * lost, and once that it works again.
 */
function createPatience({ tell, stopping }: Pick<Options, "tell" | "stopping">) {
  let isLost = false;

  /** @param afterStopMs how long to continue after the listener was told to end */
  return async <T>(request: () => Promise<T>, afterStopMs = 0): Promise<T> => {
    let stoppedAt = Infinity;
    for (let delay = FIRST_PAUSE_MS; ; delay = Math.min(2 * delay, LONGEST_PAUSE_MS)) {
      try {
        const result = await request();
        if (isLost) tell({ type: "reconnected" });
        isLost = false;
        return result;
      } catch (error) {
        if (stopping.aborted) stoppedAt = Math.min(stoppedAt, performance.now());
        if (!isTemporary(error) || performance.now() - stoppedAt >= afterStopMs) throw error;
        if (!isLost) tell({ type: "lost", reason: (error as Error).message });
        isLost = true;
        await pause(delay * (0.5 + Math.random() / 2), undefined, afterStopMs === 0 ? { signal: stopping } : {}).catch(
          () => undefined,
        );
      }
    }
  };
}
