import { once } from "node:events";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { guardedConnector, parseTarget, specialRange } from "./guard.ts";
import type { Lookup } from "./lookup.ts";
import { reasonOf, reasonOfStatus } from "./reasons.ts";
import { verdictOf } from "./schedule.ts";
import { sign } from "./signature.ts";

const BODY_KEPT_BYTES = 1024;
/** Attempts without an answer, after which the connections begin anew. */
const UNANSWERED_PER_AGENT = 1_000;

/** One webhook, ready to be delivered. */
export interface Message {
  /** The receiver's address, as the merchant gave it. */
  url: string;
  /** `webhook-id`: the same on every attempt. */
  id: string;
  /** All secrets in force; each signs. */
  secrets: readonly string[];
  /** JSON, signed and sent exactly as it is. */
  body: string;
}

/** What came of one attempt. */
export interface Outcome {
  /** Real time in milliseconds since 1970; `webhook-timestamp` is its whole seconds. */
  sentAt: number;
  /** Whole milliseconds from `sentAt` until the answer was read or the attempt given up. */
  latencyMs: number;
  /** Absent when there was no answer. */
  httpStatus?: number;
  /** The first KiB of the answer as text; absent when it was empty. */
  responseBody?: string;
  /** As the receiver sent it. */
  retryAfter?: string;
  /** Why the attempt failed, for people; absent on 2xx. */
  error?: string;
}

export interface SenderOptions {
  /** Lets webhooks go to every address, loopback and private ones included. */
  allowPrivate: boolean;
  lookup: Lookup;
  /** Real time in milliseconds since 1970. */
  now: () => number;
  /** For one attempt in all: name, connection, headers and the first KiB of the answer (D13). */
  timeoutMs?: number;
  userAgent?: string;
}

export interface Sender {
  /** Makes one attempt. Never rejects: what went wrong is in `error`. */
  send: (message: Message) => Promise<Outcome>;
  /** Closes all connections. Attempts under way end at once, with an error that says so. */
  close: () => Promise<void>;
}

/**
 * Sends webhooks over kept-alive connections, guarded against addresses that strangers must not reach
 * (see `guardedConnector`). Redirects are not followed and answers not decompressed.
 *
 * An answer counts from its status line: should the rest of a 2xx break off or take too long, the webhook is
 * delivered all the same, with what arrived of the body.
 */
export function createSender(options: SenderOptions): Sender {
  const { allowPrivate, lookup, now, timeoutMs = 15_000, userAgent = "disbursement-checkout-webhooks" } = options;
  const forbidden = allowPrivate ? () => undefined : specialRange;
  const openAgent = () =>
    new Agent({
      connect: guardedConnector({ lookup, forbidden, timeoutMs }),
      allowH2: false,
      // One clock for the whole attempt, below; these would only start anew with each part of an answer.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Receivers may ask for an idle connection to be kept, within reason.
      keepAliveMaxTimeout: 30_000,
    });
  let agent = openAgent();
  const agents = new Set([agent]);
  let unanswered = 0;

  // An agent keeps something of every receiver that never answered, for ever. Hosts are free to make up: now and then
  // another agent takes over, and the old one goes when its attempts have ended.
  function replaceAgent() {
    const old = agent;
    agent = openAgent();
    agents.add(agent);
    unanswered = 0;
    old.close().then(
      () => agents.delete(old),
      () => {},
    );
  }

  async function attempt(message: Message, sentAt: number, signal: AbortSignal) {
    const target = parseTarget(message.url);
    const timestamp = Math.floor(sentAt / 1000);
    const request = agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: "POST",
      headers: {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "user-agent": userAgent,
        "webhook-id": message.id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": sign(message.secrets, message.id, timestamp, message.body),
      },
      body: message.body,
      signal,
    });
    // undici drops a request whose deadline passed before it was connected, but says so only once it is connected.
    return readAnswer(await Promise.race([request, rejectedBy(signal)]));
  }

  async function send(message: Message): Promise<Outcome> {
    const sentAt = now();
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeoutMs);
    const result = await attempt(message, sentAt, deadline.signal).catch((error: unknown) => ({
      error: deadline.signal.aborted ? `No answer within ${timeoutMs / 1000} s.` : reasonOf(error),
    }));
    clearTimeout(timer);
    if (!("httpStatus" in result) && (unanswered += 1) >= UNANSWERED_PER_AGENT) replaceAgent();
    return { sentAt, latencyMs: Math.max(0, Math.round(now() - sentAt)), ...result };
  }

  return {
    send,
    async close() {
      await Promise.all([...agents].map((each) => each.destroy()));
    },
  };
}

async function rejectedBy(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw signal.reason;
}

async function readAnswer(response: Dispatcher.ResponseData): Promise<Omit<Outcome, "sentAt" | "latencyMs">> {
  const { statusCode: httpStatus } = response;
  const responseBody = await readStart(response.body);
  const retryAfter = [response.headers["retry-after"]].flat()[0];
  return {
    httpStatus,
    ...(responseBody && { responseBody }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(verdictOf(httpStatus) !== "delivered" && { error: reasonOfStatus(httpStatus) }),
  };
}

/** Reads the first KiB; more than that closes the connection, less leaves it open for the next webhook. */
async function readStart(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > BODY_KEPT_BYTES) break;
    }
  } catch {
    // Cut off by the receiver or by the deadline: what arrived is kept.
  }
  return toText(Buffer.concat(chunks).subarray(0, BODY_KEPT_BYTES));
}

/** Bytes that are not UTF-8 become U+FFFD, a character cut in two at the end is left out; PostgreSQL refuses NUL in text. */
function toText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll("\0", "\uFFFD");
}
