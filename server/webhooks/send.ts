import type { IncomingMessage } from "node:http";
import { createConnections } from "./connections.ts";
import { neverReachable, parseTarget, Refusal, specialRange } from "./guard.ts";
import type { Lookup } from "./lookup.ts";
import { reasonOf, reasonOfStatus } from "./reasons.ts";
import { verdictOf } from "./schedule.ts";
import { sign } from "./signature.ts";

const BODY_KEPT_BYTES = 1024;
/** How long an attempt may take, in milliseconds (D13). */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** The largest number of informational (1xx) responses before the final response. */
const INFORMATIONAL_RESPONSES = 10;

/** One webhook, ready to be delivered. */
export interface Message {
  /** The merchant's `webhookURL`. */
  url: string;
  /** `webhook-id`: the same on every attempt. */
  id: string;
  /** All valid secrets; the body is signed with each. */
  secrets: readonly string[];
  /** JSON, signed and sent verbatim. */
  body: string;
  /** The W3C trace context of this attempt. */
  traceparent?: string | undefined;
}

/** A webhook with the headers of one attempt. */
export interface SignedMessage extends Pick<Message, "url" | "id" | "body"> {
  headers: Readonly<Record<string, string>>;
}

/** The result of one attempt. */
export interface AttemptResult {
  /** Real time in milliseconds since 1970; `webhook-timestamp` is this time in whole seconds. */
  sentAt: number;
  /** Milliseconds from `sentAt` until the attempt ended. */
  latencyMs: number;
  /** Absent if there was no response. */
  httpStatus?: number;
  /** The first KiB of the response body as text; absent if empty. */
  responseBody?: string;
  /** The response's `Retry-After`, verbatim. */
  retryAfter?: string;
  /** Explains to the merchant why the attempt failed; absent on 2xx. */
  error?: string;
}

export interface SenderOptions {
  /** True to send webhooks to loopback and private addresses too. */
  allowPrivate: boolean;
  /** True to send webhooks over plain http and to any port. */
  allowInsecure: boolean;
  lookup: Lookup;
  /** Real time in milliseconds since 1970. */
  now: () => number;
  /** Limit for the whole attempt: name resolution, connection, headers and the first KiB of the response (D13). */
  timeoutMs?: number;
  userAgent?: string;
  /** Called with details about a refused webhook that the operator should know and its merchant must not. */
  onRefusal?: (webhookId: string, detail: string) => void;
}

export interface Sender {
  /**
   * Makes one attempt. Never rejects: a failure is described in `error`.
   * @param ending ends the attempt when it is aborted, also by `send` itself
   */
  send: (message: Message, ending?: AbortController) => Promise<AttemptResult>;
  /** Makes an attempt, like `send`, with a message that was signed elsewhere. */
  sendSigned: (message: SignedMessage, ending?: AbortController) => Promise<AttemptResult>;
  /** Closes all connections. Attempts in progress end immediately with an error that says so. */
  close: () => Promise<void>;
}

/**
 * Sends webhooks over persistent connections, to allowed addresses only (see `createConnections`). Redirects are not
 * followed and responses are not decompressed.
 *
 * The status line decides the result: a webhook with a 2xx status is delivered even if the body is cut off or too slow.
 * The part of the body received so far is recorded.
 */
export function createSender(options: SenderOptions): Sender {
  const { allowPrivate, allowInsecure, lookup, now, onRefusal, timeoutMs = ATTEMPT_TIMEOUT_MS, userAgent } = options;
  const forbidden = allowPrivate ? neverReachable : specialRange;
  const connections = createConnections({ lookup, forbidden, discreet: !allowPrivate });

  async function attempt(message: SignedMessage, ending: AbortController) {
    const target = parseTarget(message.url, allowInsecure);
    const { signal } = ending;
    let informational = 0;
    const request = connections.post(target, {
      headers: { ...message.headers, "accept-encoding": "identity" },
      body: message.body,
      signal,
      // A receiver could otherwise keep this process busy with 1xx responses until the deadline.
      onInformation: () => {
        informational += 1;
        if (informational > INFORMATIONAL_RESPONSES) ending.abort(new InformationalFlood());
      },
    });
    return readResponse(await request);
  }

  // One controller serves all reasons, because listeners of AbortSignal.any's signals are never freed.
  async function sendAt(
    sentAt: number,
    message: Pick<Message, "url" | "id" | "body">,
    headers: () => SignedMessage["headers"],
    ending = new AbortController(),
  ): Promise<AttemptResult> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      ending.abort();
    }, timeoutMs);
    const attempted = async () => attempt({ ...message, headers: headers() }, ending);
    const result = await attempted().catch((error: unknown) => {
      if (error instanceof Refusal && error.detail) onRefusal?.(message.id, error.detail);
      return { error: isLate ? `No response within ${timeoutMs / 1000} s.` : reasonOf(error) };
    });
    clearTimeout(timer);
    return { sentAt, latencyMs: Math.max(0, Math.round(now() - sentAt)), ...result };
  }

  const send: Sender["send"] = (message, ending) => {
    const sentAt = now();
    return sendAt(sentAt, message, () => webhookHeaders(message, sentAt, userAgent), ending);
  };
  const sendSigned: Sender["sendSigned"] = (message, ending) => sendAt(now(), message, () => message.headers, ending);

  return { send, sendSigned, close: async () => connections.close() };
}

/** Returns the headers of an attempt, signed. @param sentAt real time in milliseconds since 1970 */
export function webhookHeaders(
  { id, secrets, body, traceparent }: Omit<Message, "url">,
  sentAt: number,
  userAgent = "disbursement-checkout-webhooks",
): Record<string, string> {
  const timestamp = Math.floor(sentAt / 1000);
  return {
    "content-type": "application/json",
    "user-agent": userAgent,
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(secrets, id, timestamp, body),
    ...(traceparent !== undefined && { traceparent }),
  };
}

class InformationalFlood extends Error {
  readonly code = "INFORMATIONAL_FLOOD";
}

async function readResponse(response: IncomingMessage): Promise<Omit<AttemptResult, "sentAt" | "latencyMs">> {
  const httpStatus = response.statusCode!;
  const responseBody = await readStart(response);
  const retryAfter = response.headers["retry-after"];
  return {
    httpStatus,
    ...(responseBody && { responseBody }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(verdictOf(httpStatus) !== "delivered" && { error: reasonOfStatus(httpStatus) }),
  };
}

/**
 * Reads the first KiB. If the body is longer, the connection is closed; otherwise the next webhook can reuse it. If the
 * receiver or the deadline cuts the body off, what was received counts. Events cost half as much as an async iterator.
 */
function readStart(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    response
      .on("data", (chunk: Uint8Array) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > BODY_KEPT_BYTES) response.destroy();
      })
      .on("error", () => {})
      .on("close", () => resolve(size === 0 ? "" : toText(Buffer.concat(chunks).subarray(0, BODY_KEPT_BYTES))));
  });
}

/**
 * Decodes UTF-8. Invalid bytes become U+FFFD, and a truncated last character is dropped. NUL also becomes U+FFFD,
 * because PostgreSQL does not accept it in text.
 */
function toText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll("\0", "\uFFFD");
}
