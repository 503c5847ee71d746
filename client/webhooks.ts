import { ClientError } from "./errors.ts";
import { parse } from "./json.ts";
import type { WebhookEvent } from "./types.ts";

export type { WebhookEvent };

/** A webhook that must not be trusted. Answer it with 400. */
export class WebhookError extends ClientError {
  override readonly name = "WebhookError";
}

/** A body as it arrived. */
export type RawBody = string | ArrayBuffer | Uint8Array;

/** The headers of a request: of `fetch`, of Node, or a plain object in any case. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

/** What decides whether a webhook is of now. */
export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now, either way, in seconds. Default 300. */
  tolerance?: number;
  /** The time to judge by, in ms since 1970. Default: the clock. */
  now?: number | Date;
}

/** What a signed event says about itself. */
export interface SignOptions {
  /** The same on every delivery of an event. Default: a new one. */
  id?: string;
  /** When the attempt is made, in ms since 1970. Default: the clock. */
  now?: number | Date;
}

/**
 * Checks who sent a webhook and when (D12), and returns its event. Deliveries may repeat: remember `webhook-id`.
 * Keep a default branch for events that come to be later.
 *
 * @param body As it arrived, text or bytes. A body that a framework has parsed is refused: its bytes are lost.
 * @param secret `whsec_…`; several while one takes over from another.
 * @throws {WebhookError} It must not be trusted. Answer with 400.
 */
export async function verifyWebhook(
  body: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const isRaw = typeof body === "string" || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
  trust(isRaw, "The body was parsed. Pass it raw: express.raw({ type: '*/*' }), or await request.text().");
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headerOf(headers, name));
  trust(id && timestamp && signatures, "webhook-id, webhook-timestamp or webhook-signature is missing.");
  const expected = await Promise.all([secret].flat().map((one) => sign(one, id, timestamp, body)));
  // Every signature is compared with every secret's, to its end: the time taken tells nothing.
  const matches = signatures.split(" ").flatMap((given) => expected.map((one) => isEqual(given, one)));
  trust(matches.includes(true), "No signature fits: another secret, or the body was changed.");
  const age = Math.floor(Number(now) / 1000) - Number(timestamp);
  trust(Math.abs(age) <= tolerance, "webhook-timestamp is not within the tolerance.");
  const event = parse(await new Blob([body as BlobPart]).text()) as { event?: unknown; data?: unknown } | undefined;
  trust(typeof event?.event === "string" && event.data, "The body is no event.");
  return event as WebhookEvent;
}

/**
 * Signs an event as the service does, to test a receiver with.
 *
 * @param body The event, or its JSON.
 * @param secret `whsec_…`
 */
export async function signWebhook(
  body: string | WebhookEvent,
  secret: string,
  { id = `msg_${crypto.randomUUID()}`, now = Date.now() }: SignOptions = {},
): Promise<{ body: string; headers: Record<string, string> }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = `${Math.floor(Number(now) / 1000)}`;
  const signature = await sign(secret, id, timestamp, text);
  return {
    body: text,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signature,
    },
  };
}

function trust(condition: unknown, message: string): asserts condition {
  if (!condition) throw new WebhookError(message);
}

function headerOf(headers: WebhookHeaders, end: string): string {
  const name = `webhook-${end}`;
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? "";
  return [Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]].flat().join(" ");
}

async function sign(secret: string, id: string, timestamp: string, body: RawBody): Promise<string> {
  const message = await new Blob([`${id}.${timestamp}.`, body as BlobPart]).arrayBuffer();
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign("HMAC", key, message))))}`;
}

/** The bytes of a secret. The message must not repeat it. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  let binary = "";
  try {
    binary = atob(secret.replace(/^whsec_/, ""));
  } catch {
    // No text, or not base64: nothing was decoded.
  }
  trust(binary, "The secret must be whsec_ and base64.");
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
