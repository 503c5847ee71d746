// A relay between the server and the receivers of its webhooks. The server sends every webhook to the relay. The relay
// lets a fault change the webhook and then delivers it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ClaimedDelivery } from "../../server/domain/deliveries.ts";
import type { Storage } from "../../server/domain/storage.ts";
import type { Deliver, Hooks } from "./fault.ts";
import { createAsk } from "./front.ts";

const sent = ["content-type", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature"];

const deliver: Deliver = async ({ url, headers, body }) => {
  const target = new URL(url);
  const { ask, close } = createAsk(target);
  const path = target.pathname + target.search;
  const reply = await ask({ method: "POST", path, headers, body: Buffer.from(body) });
  close();
  return reply ?? { status: 502, headers: {}, text: "" };
};

/**
 * Starts a relay on a free port.
 * @param webhook called for each webhook; it delivers the webhook, changed or not, or drops it
 */
export async function startRelay(webhook: NonNullable<Hooks["webhook"]>) {
  const underWay = new Map<string, ClaimedDelivery>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const headers = Object.fromEntries(sent.map((name) => [name, String(request.headers[name])]));
    const claimed = underWay.get(headers["webhook-id"] ?? "") as ClaimedDelivery;
    const reply = await webhook({ url: claimed.url, headers, body, claimed }, deliver);
    response.writeHead(reply.status, reply.headers).end(reply.text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const diverted = (claimed: ClaimedDelivery) => {
    underWay.set(claimed.id, claimed);
    return { ...claimed, url };
  };
  return {
    /** Returns replacements for storage methods that change the URL of every claimed delivery to the relay's. */
    divert: (inner: Storage): Partial<Storage> => ({
      claimDeliveries: async (...which) => (await inner.claimDeliveries(...which)).map(diverted),
    }),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
