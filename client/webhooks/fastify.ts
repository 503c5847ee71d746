// Receives webhooks in Fastify.
import { createReceiver, readBody } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver.ts";
import type { WebhookHeaders } from "./webhooks.ts";

export { memoryStore } from "./receiver.ts";
export type { EventClaim, EventStore, ReceiverOptions, VerifiedWebhook, WebhookEvent } from "./receiver.ts";

/** The parts of a Fastify instance that the plugin uses. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: string, parser: (request: any, payload: any) => Promise<unknown>): unknown;
  post(path: string, handler: (request: any, reply: any) => Promise<unknown>): unknown;
}

interface Request {
  headers: WebhookHeaders;
  body?: AsyncIterable<Uint8Array>;
}

interface Reply {
  code(status: number): Reply;
  headers(headers: Record<string, string>): Reply;
  send(body: string): Reply;
}

/**
 * Creates a plugin that receives webhooks: `app.register(receiveWebhooks(…), { prefix: "/webhooks" })`. It reads raw
 * bodies; the content type parsers of other routes stay as they are.
 */
export function receiveWebhooks(options: ReceiverOptions): (fastify: FastifyLike) => Promise<void> {
  const receive = createReceiver(options);
  return async (fastify) => {
    fastify.removeAllContentTypeParsers();
    // Passes the unread stream on as the body.
    fastify.addContentTypeParser("*", async (_: unknown, payload: unknown) => payload);
    fastify.post("/", async ({ headers, body: stream }: Request, reply: Reply) => {
      const body = (maxBytes: number) => (stream ? readBody(stream, maxBytes) : "");
      const { status, headers: sent, body: text } = await receive({ headers, body });
      return reply.code(status).headers(sent).send(text);
    });
  };
}
