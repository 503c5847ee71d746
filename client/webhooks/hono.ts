// Receives webhooks in Hono.
import { receiveWebhooks as receiveFetch } from "./fetch.ts";
import type { ReceiverOptions } from "./receiver.ts";

export { memoryStore } from "./receiver.ts";
export type { EventClaim, EventStore, ReceiverOptions, VerifiedWebhook, WebhookEvent } from "./receiver.ts";

/**
 * Creates a handler that receives webhooks: `app.post("/webhooks", receiveWebhooks(…))`.
 */
export function receiveWebhooks(options: ReceiverOptions): (context: { req: { raw: Request } }) => Promise<Response> {
  const receive = receiveFetch(options);
  return ({ req }) => receive(req.raw);
}
