import { EventEmitter, once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { checkWebhook } from "./contract.ts";
import { serve } from "./serve.ts";

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
 * A merchant's webhook receiver on a free port. It checks each webhook against the contract before responding.
 * @param responseBody the body of its responses
 */
export async function startReceiver(status = 204, responseBody = ""): Promise<Receiver> {
  let current = status;
  const received: Received[] = [];
  const arrivals = new EventEmitter();
  const { url, close } = await serve(async (request, response) => {
    const content = await text(request);
    const body: unknown = JSON.parse(content);
    checkWebhook(body);
    received.push({ headers: request.headers, text: content, body });
    response.writeHead(current).end(responseBody);
    arrivals.emit("webhook");
  });
  return {
    url: `${url}/hook`,
    received,
    async until(count) {
      while (received.length < count) await once(arrivals, "webhook");
    },
    respondWith: (next) => {
      current = next;
    },
    close,
  };
}
