import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { checkWebhook } from "../../server/testing/contract.ts";
import { serve } from "../../server/testing/http.ts";
import type { SeededRandom } from "../../server/testing/random.ts";
import { BEHAVIOURS, type Behaviour } from "./behaviours.ts";

export interface Receiver {
  url: string;
  /** What each webhook that arrived said about its payment, by `webhook-id`. */
  received: Map<string, unknown>;
  /** The attempts whose sender closed the connection before a slow receiver had responded. */
  abandoned: Abandoned[];
  /** Changes the behaviour and closes all connections. Returns how many webhooks got the previous behaviour. */
  behave(behaviour: Behaviour): number;
  close(): Promise<void>;
}

/** Times are of `performance.now()`. */
export interface Abandoned {
  id: string;
  /**
   * When the process that made the attempt was killed. If the next process that claimed the webhook was killed too,
   * when that process was killed.
   */
  at: number;
  /** The last claim known. */
  token?: number;
  isClaimedTwice?: boolean;
  /** When the next attempt arrived. */
  repeatedAt?: number;
}

/** How long it may take until the receiver notices the end of an attempt, in milliseconds. */
export const NOTICED_MS = 100;

/**
 * Starts a webhook receiver whose behaviour changes. It checks each webhook against the contract, and checks that no
 * attempt begins before the previous attempt of the same webhook has ended.
 */
export async function startReceiver(random: SeededRandom, violate: (what: string) => void): Promise<Receiver> {
  let current: Behaviour = "healthy";
  let treated = 0;
  const received = new Map<string, unknown>();
  const abandoned: Abandoned[] = [];
  const open = new Map<string, ServerResponse>();

  /** Follows an attempt until its end. */
  function watch(id: string, response: ServerResponse) {
    const previous = open.get(id);
    if (previous) void sleep(NOTICED_MS).then(() => previous.closed || violate(`two attempts of ${id} at once`));
    const last = abandoned.findLast((one) => one.id === id);
    if (last) last.repeatedAt ??= performance.now();
    open.set(id, response);
    response.once("close", () => {
      if (open.get(id) === response) open.delete(id);
      if (current === "slow" && !response.writableFinished) abandoned.push({ id, at: performance.now() });
    });
  }

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const id = String(request.headers["webhook-id"]);
    watch(id, response);
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    let event: { data?: unknown } = {};
    try {
      checkWebhook((event = JSON.parse(body)));
    } catch (error) {
      violate((error as Error).message);
    }
    treated += 1;
    await BEHAVIOURS[current](response, random);
    if (response.statusCode === 204 || current === "endless") received.set(id, event.data);
  }

  const { url, disconnect, close } = await serve((request, response) => void handle(request, response));
  return {
    url: `${url}/hook`,
    received,
    abandoned,
    behave(behaviour) {
      current = behaviour;
      disconnect();
      const before = treated;
      treated = 0;
      return before;
    },
    close,
  };
}
