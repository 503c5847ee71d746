import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Attempt } from "../domain/deliveries.ts";
import { createConnections } from "./connections.ts";
import { parseTarget, Refusal } from "./guard.ts";
import type { Lookup } from "./lookup.ts";
import { reasonOf, reasonOfStatus } from "./reasons.ts";
import { verdictOf } from "./schedule.ts";

const BODY_KEPT_BYTES = 1024;
/** How long an attempt may take, in milliseconds (D13). */
export const ATTEMPT_TIMEOUT_MS = 15_000;
const SECRET_PREFIX = "whsec_";
/** Standard Webhooks 1.0 requires keys of 24 to 64 bytes. */
const SECRET_FORM = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

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
}

/** The result of one attempt, with the reason of a failure for the merchant. */
export interface AttemptResult extends Omit<Attempt, "number" | "at"> {
  /** The response's `Retry-After`, verbatim. */
  retryAfter?: string;
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
  /** Called with details about a refused webhook that the operator should know and its merchant must not. */
  onRefusal?: (webhookId: string, detail: string) => void;
}

export type Sender = ReturnType<typeof createSender>;

/**
 * Sends webhooks over persistent connections, to allowed addresses only (see `createConnections`). Redirects are not
 * followed and responses are not decompressed.
 *
 * The status line decides the result: a webhook with a 2xx status is delivered even if the body is cut off or too slow.
 * The part of the body received so far is recorded.
 */
export function createSender(options: SenderOptions) {
  const { allowInsecure, now, onRefusal, timeoutMs = ATTEMPT_TIMEOUT_MS } = options;
  const connections = createConnections(options);

  async function attempt(message: Message, sentAt: number, signal: AbortSignal) {
    const target = parseTarget(message.url, allowInsecure);
    const request = { headers: webhookHeaders(message, sentAt), body: message.body, signal };
    return readResponse(await connections.post(target, request));
  }

  /**
   * Makes one attempt. Never rejects: a failure is described in `error`.
   * @param ending ends the attempt when it is aborted, also by this function itself when it takes too long. One controller
   *   serves both, because listeners of AbortSignal.any's signals are never freed.
   */
  async function send(message: Message, ending = new AbortController()): Promise<AttemptResult> {
    const sentAt = now();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      ending.abort();
    }, timeoutMs);
    const result = await attempt(message, sentAt, ending.signal).catch((error: unknown) => {
      if (error instanceof Refusal && error.detail) onRefusal?.(message.id, error.detail);
      return { error: isLate ? `No response within ${timeoutMs / 1000} s.` : reasonOf(error) };
    });
    clearTimeout(timer);
    return { sentAt, latencyMs: Math.max(0, Math.round(now() - sentAt)), ...result };
  }

  /** Closes all connections. Attempts in progress end. */
  return { send, close: async () => connections.close() };
}

/** Returns the headers of an attempt, signed. @param sentAt real time in milliseconds since 1970 */
export function webhookHeaders({ id, secrets, body }: Omit<Message, "url">, sentAt: number): Record<string, string> {
  const timestamp = Math.floor(sentAt / 1000);
  return {
    "content-type": "application/json",
    "user-agent": "disbursement-checkout-webhooks",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(secrets, id, timestamp, body),
    "accept-encoding": "identity",
  };
}

/**
 * Returns the value of `webhook-signature` (D12): for each secret, `v1,` and the base64 HMAC-SHA256 of
 * `id.timestamp.body`, separated by spaces. During a rotation, receivers can verify with either secret.
 *
 * @param secrets all valid secrets, from `newSecret`; at least one.
 * @param timestampSeconds real time of the attempt, in whole seconds since 1970, as in `webhook-timestamp`.
 * @param body the exact text that is sent.
 * @throws Error if there is no secret or one is malformed; the message never contains a secret.
 */
export function sign(secrets: readonly string[], id: string, timestampSeconds: number, body: string): string {
  if (secrets.length === 0) throw new Error("Signing a webhook requires at least one secret.");
  const content = `${id}.${timestampSeconds}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac("sha256", keyOf(secret)).update(content).digest("base64")}`)
    .join(" ");
}

/** Node signs with a key object in a fifth of the time that it takes with bytes. */
function keyOf(secret: string): KeyObject {
  if (!SECRET_FORM.test(secret)) {
    throw new Error("A webhook secret must be whsec_ and the base64 of 24 to 64 bytes.");
  }
  return createSecretKey(secret.slice(SECRET_PREFIX.length), "base64");
}

async function readResponse(response: IncomingMessage): Promise<Omit<AttemptResult, "sentAt" | "latencyMs">> {
  const httpStatus = response.statusCode!;
  return {
    httpStatus,
    responseBody: (await readStart(response)) || undefined,
    retryAfter: response.headers["retry-after"],
    error: verdictOf(httpStatus) === "delivered" ? undefined : reasonOfStatus(httpStatus),
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
