import { once } from "node:events";
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
  failing: (response) => response.writeHead(500).end("out of order"),
  silent: () => undefined,
  reset: (response) => response.socket!.resetAndDestroy(),
  flood: (response) => repeat(response, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100), 0),
  drip: (response) => repeat(response, "h", 300, "HTTP/1.1 200 OK\r\n"),
  endless: (response) => repeat(response, "x".repeat(10_000), 0, "HTTP/1.1 200 OK\r\n\r\n"),
} satisfies Record<string, (response: ServerResponse, random: SeededRandom) => unknown>;

export type Behaviour = keyof typeof BEHAVIOURS;

/** Writes the same bytes until the connection is closed. */
async function repeat({ socket }: ServerResponse, bytes: string, everyMs: number, first = "") {
  socket!.on("error", () => undefined).write(first);
  while (!socket!.destroyed) {
    if (!socket!.write(bytes))
      await Promise.race([once(socket!, "drain"), once(socket!, "close")]).catch(() => undefined);
    await sleep(everyMs);
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** How long it may take until the receiver notices the end of an attempt, in milliseconds. */
const NOTICED_MS = 100;

/**
 * Starts a webhook receiver whose behaviour changes. It checks each webhook against the contract, and checks that no
 * attempt begins before the previous attempt of the same webhook has ended.
 */
export async function startReceiver(random: SeededRandom, violate: (what: string) => void) {
  let current: Behaviour = "healthy";
  let treated = 0;
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
    treated += 1;
    const treatment = current;
    await BEHAVIOURS[treatment](response, random);
    if (response.statusCode === 204 || treatment === "endless") received.set(id, event.data);
  }

  const { url, disconnect, close } = await serve((request, response) => void handle(request, response));
  return {
    url: `${url}/hook`,
    /** What each webhook that arrived said about its payment, by `webhook-id`. */
    received,
    /** Changes the behaviour and closes all connections. Returns how many webhooks got the previous behaviour. */
    behave(behaviour: Behaviour): number {
      current = behaviour;
      disconnect();
      const before = treated;
      treated = 0;
      return before;
    },
    close,
  };
}
