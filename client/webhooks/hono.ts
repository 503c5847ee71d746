// Receives webhooks in Hono.
import { receiveWebhooks as receiveFetch } from "./fetch.ts";
import type { ReceiverOptions } from "./receiver.ts";

export { memoryStore } from "./receiver.ts";
export type { EventClaim, EventStore, ReceiverOptions, VerifiedWebhook, WebhookEvent } from "./receiver.ts";

/**
 * Creates a handler that receives webhooks: `app.post("/webhooks", receiveWebhooks(…))`.
 *
 * It responds with 204 (handled, or handled before), 400 (not to be trusted), 413, 500 (the handler failed or the set-up
 * is wrong; see `onError`) or 503 (another request is handling the event).
 */
export function receiveWebhooks(options: ReceiverOptions): (context: { req: { raw: Request } }) => Promise<Response> {
  const receive = receiveFetch(options);
  return ({ req }) => receive(req.raw);
}
