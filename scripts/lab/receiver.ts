import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { checkWebhook } from "../../server/testing/contract.ts";
import { serve } from "../../server/testing/http.ts";
import type { SeededRandom } from "../../server/testing/random.ts";

/** Ways in which a receiver treats a webhook. */
const BEHAVIOURS = {
  healthy: (response) => response.writeHead(204).end(),
  /** Fails about one webhook in eight. */
  moody: (response, random) => {
    const mood = random.below(24);
    if (mood === 0) response.socket!.resetAndDestroy();
    else if (mood === 1) response.writeHead(503, { "retry-after": "1" }).end();
    else response.writeHead(mood === 2 ? 500 : 204).end();
  },
  /** Some attempts are always in progress, and some last longer than an outage of ten seconds. */
  slow: async (response, random) => {
    await sleep(random.below(random.below(10) === 0 ? 14_000 : 2_000));
    response.writeHead(204).end();
  },
} satisfies Record<string, (response: ServerResponse, random: SeededRandom) => unknown>;

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** How long it may take until the receiver notices the end of an attempt, in milliseconds. */
const NOTICED_MS = 100;

/**
 * Starts a webhook receiver whose behaviour changes. It checks each webhook against the contract, and checks that no
 * attempt begins before the previous attempt of the same webhook has ended.
 */
export async function startReceiver(random: SeededRandom, violate: (what: string) => void) {
  let current: keyof typeof BEHAVIOURS = "healthy";
  const received = new Map<string, unknown>();
  const open = new Map<string, ServerResponse>();

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const id = String(request.headers["webhook-id"]);
    const previous = open.get(id);
    if (previous) void sleep(NOTICED_MS).then(() => previous.closed || violate(`two attempts of ${id} at once`));
    open.set(id, response);
    response.once("close", () => open.get(id) === response && open.delete(id));
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    let event: { data?: unknown } = {};
    try {
      checkWebhook((event = JSON.parse(body)));
    } catch (error) {
      violate((error as Error).message);
    }
    await BEHAVIOURS[current](response, random);
    if (response.statusCode === 204) received.set(id, event.data);
  }

  const { url, disconnect, close } = await serve((request, response) => void handle(request, response));
  return {
    url: `${url}/hook`,
    /** What each webhook that arrived said about its payment, by `webhook-id`. */
    received,
    /** Changes the behaviour and closes all connections. */
    behave(behaviour: keyof typeof BEHAVIOURS) {
      current = behaviour;
      disconnect();
    },
    close,
  };
}
