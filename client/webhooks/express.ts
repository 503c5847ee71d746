// Receives webhooks in Express, and wherever requests and responses are those of node:http.
import { createReceiver, readBody } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver.ts";
import type { RawBody, WebhookHeaders } from "./webhooks.ts";

export { memoryStore } from "./receiver.ts";
export type { EventClaim, EventStore, ReceiverOptions, VerifiedWebhook, WebhookEvent } from "./receiver.ts";

/** Node's request, with what a body parser may have added. */
export interface NodeRequest extends AsyncIterable<any> {
  headers: WebhookHeaders;
  readableDidRead: boolean;
  body?: unknown;
}

/** Node's response. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/**
 * Creates a handler that receives webhooks: `app.post("/webhooks", receiveWebhooks(…))`. Register it before
 * `express.json()`, which would consume the raw body. It is a listener for `node:http` too.
 */
export function receiveWebhooks(options: ReceiverOptions) {
  const receive = createReceiver(options);
  return async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    const { headers } = request;
    const { status, headers: sent, body } = await receive({ headers, body: (limit) => bodyOf(request, limit) });
    response.writeHead(status, sent);
    response.end(body);
  };
}

function bodyOf(request: NodeRequest, maxBytes: number): RawBody | Promise<RawBody> {
  // express.raw() and express.text() keep the raw body.
  const { body } = request;
  return typeof body === "string" || ArrayBuffer.isView(body) ? (body as RawBody) : readBody(request, maxBytes);
}
