import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { checkWebhook } from "../../server/testing/contract.ts";
import type { SeededRandom } from "../../server/testing/random.ts";

type Respond = (response: ServerResponse, random: SeededRandom) => unknown;

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
  failing: (response) => response.writeHead(500).end("out of order"),
  silent: () => undefined,
  reset: (response) => response.socket!.resetAndDestroy(),
  flood: (response) => repeat(response, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100), 0),
  drip: (response) => repeat(response, "h", 300, "HTTP/1.1 200 OK\r\n"),
  endless: (response) => repeat(response, "x".repeat(10_000), 0, "HTTP/1.1 200 OK\r\n\r\n"),
} satisfies Record<string, Respond>;

export type Behaviour = keyof typeof BEHAVIOURS;

/** Writes the same bytes until the connection is closed. */
async function repeat({ socket }: ServerResponse, bytes: string, everyMs: number, first = "") {
  socket!.on("error", () => undefined);
  socket!.write(first);
  while (!socket!.destroyed) {
    if (!socket!.write(bytes))
      await Promise.race([once(socket!, "drain"), once(socket!, "close")]).catch(() => undefined);
    await sleep(everyMs);
  }
}

export interface Receiver {
  url: string;
  /** The `webhook-id` of each webhook received. */
  received: Set<string>;
  /** Changes the behaviour and closes all connections. Returns how many webhooks got the previous behaviour. */
  behave(behaviour: Behaviour): number;
  close(): void;
}

/** Starts a webhook receiver whose behaviour changes. It checks each webhook against the contract. */
export async function startReceiver(random: SeededRandom, violate: (what: string) => void): Promise<Receiver> {
  let current: Behaviour = "healthy";
  let treated = 0;
  const received = new Set<string>();

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    try {
      checkWebhook(JSON.parse(body));
    } catch (error) {
      violate((error as Error).message);
    }
    treated += 1;
    BEHAVIOURS[current](response, random);
    if (response.statusCode === 204 || current === "endless") received.add(String(request.headers["webhook-id"]));
  }

  const server = createServer((request, response) => void handle(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    behave(behaviour) {
      current = behaviour;
      server.closeAllConnections();
      const before = treated;
      treated = 0;
      return before;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
