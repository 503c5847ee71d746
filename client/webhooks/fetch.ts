// Receives webhooks in Next.js, Workers, Bun, Deno and other runtimes with Request and Response.
import { bodyConsumed, createReceiver, readBody } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver.ts";

export { memoryStore } from "./receiver.ts";
export type { EventClaim, EventStore, ReceiverOptions, VerifiedWebhook, WebhookEvent } from "./receiver.ts";

/**
 * Creates a function that receives webhooks: `export const POST = receiveWebhooks(…)` in Next.js, the `fetch` of a
 * Worker, the handler of `Deno.serve` or of a route of `Bun.serve`.
 */
export function receiveWebhooks(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const receive = createReceiver(options);
  return async (request) => {
    const { status, headers, body } = await receive({
      headers: request.headers,
      body(maxBytes) {
        if (request.bodyUsed) throw bodyConsumed();
        return request.body ? readBody(request.body as unknown as AsyncIterable<Uint8Array>, maxBytes) : "";
      },
    });
    return new Response(body || null, { status, headers });
  };
}
