import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { checkWebhook } from "./contract.ts";

export interface Received {
  headers: IncomingHttpHeaders;
  /** The raw body. */
  text: string;
  body: any;
}

export interface Receiver {
  /** Use as a `webhookURL`. */
  url: string;
  /** In order of arrival. */
  received: Received[];
  /** Resolves once `count` webhooks in total have been received. */
  until(count: number): Promise<void>;
  /** Sets the status of all further responses. */
  respondWith(status: number): void;
  close(): Promise<void>;
}

/**
 * A merchant's site on a free port, which receives webhooks. It checks each webhook against the contract before
 * responding.
 * @param responseBody the body of its responses, also to GET
 */
export async function startReceiver(status = 204, responseBody = ""): Promise<Receiver> {
  let current = status;
  const received: Received[] = [];
  const arrivals = new EventEmitter();
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return void response.setHeader("content-type", "text/html").end(responseBody);
    const content = await text(request);
    const body: unknown = JSON.parse(content);
    checkWebhook(body);
    received.push({ headers: request.headers, text: content, body });
    response.writeHead(current).end(responseBody);
    arrivals.emit("webhook");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    async until(count) {
      while (received.length < count) await once(arrivals, "webhook");
    },
    respondWith: (next) => {
      current = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
