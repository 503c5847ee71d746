// What the receivers of all frameworks share: verify a webhook, drop repeats, and choose the response.
import { keysOf } from "./webhook-secret.ts";
import { UsageError, verifyWebhook, WebhookError } from "./webhooks.ts";
import type { RawBody, VerifiedWebhook, WebhookEvent, WebhookHeaders } from "./webhooks.ts";

export type { VerifiedWebhook, WebhookEvent };

/**
 * Remembers which events were handled, so that each is handled once. Share one store among all processes that receive
 * webhooks, for example a database table.
 */
export interface EventStore {
  /**
   * Claims an event before it is handled; must be atomic.
   *
   * A claim must expire after some minutes, or an event whose process was killed is never handled.
   *
   * @returns `claimed`: handle it. `busy`: another request is handling it. `done`: it was handled before.
   */
  claim(id: string): EventClaim | Promise<EventClaim>;
  /**
   * Records that the event was handled. Keep the record as long as the service keeps events, at least seven days:
   * retries take up to four days, and a replay can come at any later time, with the same id.
   */
  done(id: string): void | Promise<void>;
  /** Gives the claim back, because the handler failed. The next delivery is handled again. */
  release(id: string): void | Promise<void>;
}

export type EventClaim = "claimed" | "busy" | "done";

/**
 * Options of `receiveWebhooks`. A receiver responds with 204 (handled, or handled before), 400 (not to be trusted), 413, 500
 * (the handler failed or the set-up is wrong; see `onError`) or 503 (another request is handling the event).
 */
export interface ReceiverOptions {
  /**
   * `whsec_…`; during a rotation an array of the current and earlier secrets. A function is called for every request.
   * As long as it returns no secret, every request gets 500, `onError` gets a UsageError, and the service retries.
   */
  secret: Secret | (() => Secret | Promise<Secret>);
  /**
   * Handles an event, once. The service waits 15 seconds for the response, so put long work into a queue. If the handler
   * throws, the response is 500, and the service delivers the event again. If it never settles, the event stays claimed.
   * Ignore events that you do not know, because new events may be added.
   */
  onEvent(event: WebhookEvent, webhook: VerifiedWebhook): unknown;
  /** Where handled events are remembered. Default: the last 10,000 in the memory of this process. */
  store?: EventStore;
  /**
   * Called with every error that causes a 500, and once with each reason for a 400, such as a wrong secret. Default:
   * `console.error`.
   */
  onError?(error: unknown): void;
  /** The largest accepted body, in bytes; a larger body gets 413. Default 1,048,576. */
  maxBytes?: number;
  /** Maximum difference between `webhook-timestamp` and now, in seconds, in either direction. Default 300. */
  tolerance?: number;
}

type Secret = string | readonly string[];

/** A request, as far as the receivers read it. */
export interface ReceivedRequest {
  headers: WebhookHeaders;
  /** Reads the raw body, and throws if it is larger than the limit or was read before. */
  body(maxBytes: number): RawBody | Promise<RawBody>;
}

export interface ReceiverResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type Receiver = (request: ReceivedRequest) => Promise<ReceiverResponse>;

/** The body is larger than `maxBytes`. */
class BodyTooLarge extends WebhookError {}

/** How long the service should wait, in seconds, while another request handles the same event. */
const busyDelay = 5;

/** @throws {UsageError} The secret is not set or not valid. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { secret, onEvent, store = memoryStore(), maxBytes = 2 ** 20, tolerance = 300 } = options;
  const onError = options.onError ?? console.error;
  if (typeof secret !== "function") keysOf(secret);
  // Anybody can cause a 400, so the log has each reason once.
  const reasons = new Set<string>();

  async function handle(webhook: VerifiedWebhook): Promise<ReceiverResponse> {
    const claim = await store.claim(webhook.id);
    if (claim === "busy") return respond(503, "The event is being handled.", { "retry-after": `${busyDelay}` });
    if (claim === "done") return respond(204);
    try {
      await onEvent(webhook.event, webhook);
    } catch (error) {
      await tryTo(() => store.release(webhook.id));
      throw error;
    }
    // A retry would handle the event again, so the response is 204 even if the store fails.
    await tryTo(() => store.done(webhook.id));
    return respond(204);
  }

  async function tryTo(action: () => void | Promise<void>) {
    try {
      await action();
    } catch (error) {
      onError(error);
    }
  }

  return async ({ headers, body }) => {
    try {
      const secrets = typeof secret === "function" ? await secret() : secret;
      return await handle(await verifyWebhook(await body(maxBytes), headers, secrets, { tolerance }));
    } catch (error) {
      // Unread bytes of a body that is too large would be taken for the next request of the connection.
      if (error instanceof BodyTooLarge) return respond(413, error.message, { connection: "close" });
      if (error instanceof WebhookError) {
        if (reasons.size < reasons.add(error.message).size) onError(error);
        return respond(400, error.message);
      }
      onError(error);
      return respond(500, "The webhook could not be handled.");
    }
  };
}

function respond(status: number, body = "", headers: Record<string, string> = {}): ReceiverResponse {
  return { status, headers: body ? { "content-type": "text/plain; charset=utf-8", ...headers } : headers, body };
}

/** An {@link EventStore} in the memory of one process. It remembers the last `size` handled events. */
export function memoryStore(size = 10_000): EventStore {
  const busy = new Set<string>();
  const handled = new Set<string>();
  return {
    claim(id) {
      if (handled.has(id)) return "done";
      if (busy.has(id)) return "busy";
      busy.add(id);
      return "claimed";
    },
    done(id) {
      busy.delete(id);
      handled.add(id);
      if (handled.size > size) handled.delete(handled.values().next().value!);
    },
    release: (id) => void busy.delete(id),
  };
}

type BodyStream = AsyncIterable<Uint8Array> & { readableDidRead?: boolean };

/**
 * Reads the body of a Node request or of a web `Request`. Stops at the limit, but leaves Node's stream open for the
 * response.
 */
export async function readBody(stream: BodyStream, maxBytes: number): Promise<ArrayBuffer> {
  if (stream.readableDidRead) throw bodyConsumed();
  const chunks: Uint8Array[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  let size = 0;
  for (;;) {
    const { done, value } = await iterator.next().catch(() => {
      throw new WebhookError("The body is incomplete.");
    });
    if (done) return new Blob(chunks as BlobPart[]).arrayBuffer();
    size += value.length;
    if (size > maxBytes) throw new BodyTooLarge(`The body is larger than ${maxBytes} bytes.`);
    chunks.push(value);
  }
}

export const bodyConsumed = () =>
  new UsageError("The raw body was already read. Let the webhook receiver run before body parsers and other readers.");
