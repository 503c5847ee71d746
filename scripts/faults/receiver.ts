import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { checkWebhook } from "../../server/testing/contract.ts";
import type { SeededRandom } from "../../server/testing/random.ts";
import { BEHAVIOURS, type Behaviour } from "./behaviours.ts";

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
