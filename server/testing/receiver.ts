import { EventEmitter, once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { checkWebhook } from "./contract.ts";
import { serve } from "./http.ts";

export interface Received {
  headers: IncomingHttpHeaders;
  /** The raw body. */
  text: string;
  body: any;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/**
 * A merchant's site on a free port, which receives webhooks. It checks each webhook against the contract before
 * responding.
 * @param responseBody the body of its responses, also to GET
 */
export async function startReceiver(status = 204, responseBody = "") {
  let current = status;
  const received: Received[] = [];
  const arrivals = new EventEmitter();
  const { url, close } = await serve(async (request, response) => {
    if (request.method === "GET") return void response.setHeader("content-type", "text/html").end(responseBody);
    const content = await text(request);
    const body: unknown = JSON.parse(content);
    checkWebhook(body);
    received.push({ headers: request.headers, text: content, body });
    response.writeHead(current).end(responseBody);
    arrivals.emit("webhook");
  });
  return {
    /** Use as a `webhookURL`. */
    url: `${url}/hook`,
    /** In order of arrival. */
    received,
    /** Resolves once `count` webhooks in total have been received. */
    async until(count: number) {
      while (received.length < count) await once(arrivals, "webhook");
    },
    /** Sets the status of all further responses. */
    respondWith(next: number) {
      current = next;
    },
    close,
  };
}
