import { ClientError, UsageError } from "../errors.ts";
import { parse } from "../text.ts";
import type { WebhookEvent } from "../types.ts";
import { keyOf, keysOf } from "./webhook-secret.ts";
import type { Key } from "./webhook-secret.ts";

export { UsageError };
export type { WebhookEvent };

/** The webhook must not be trusted. Respond with 400. */
export class WebhookError extends ClientError {
  override readonly name = "WebhookError";
}

/** A webhook whose signature and timestamp are valid. */
export interface VerifiedWebhook {
  /** The event's id (`webhook-id`), the same on every delivery of the event. Deduplicate on it. */
  id: string;
  /** The time of this delivery attempt (`webhook-timestamp`). */
  timestamp: Date;
  event: WebhookEvent;
}

/** The body as received, not parsed. */
export type RawBody = string | ArrayBuffer | Uint8Array;

/** Request headers: a `Headers` object, Node's headers, or a plain object. Names are case-insensitive. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

/** Options of {@link verifyWebhook}. */
export interface VerifyOptions {
  /** Maximum difference between `webhook-timestamp` and now, in seconds, in either direction. Default 300. */
  tolerance?: number;
  /** The current time, as a Date or in ms since 1970. Default: the system clock. */
  now?: number | Date;
}

/** Options of {@link signWebhook}. */
export interface SignOptions {
  /** The event's id, the same on every delivery of the event. Default: a new id. */
  id?: string;
  /** The time of the delivery attempt, as a Date or in ms since 1970. Default: the system clock. */
  now?: number | Date;
}

/**
 * Verifies the signature and timestamp of a webhook and returns its event.
 *
 * An event may be delivered more than once, so deduplicate on `id`. Ignore events that you do not know, because new
 * events may be added.
 *
 * @param body The body as received, text or bytes, because the signature covers its exact bytes.
 * @param secret `whsec_…`; during a rotation an array of the current and earlier secrets.
 * @throws {WebhookError} The webhook must not be trusted. Respond with 400.
 * @throws {UsageError} The secret is not set or not valid, or the body was parsed. The program needs a fix: respond with
 * 500, so that the service retries.
 */
export async function verifyWebhook(
  body: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now() }: VerifyOptions = {},
): Promise<VerifiedWebhook> {
  const keys = keysOf(secret);
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headerOf(headers, name));
  check(id && timestamp && signatures, "Header webhook-id, webhook-timestamp or webhook-signature is missing.");
  check(/^\d+$/.test(timestamp), "webhook-timestamp is not a number of seconds.");
  if (typeof body !== "string" && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body))
    throw new UsageError("The body was parsed. Pass it raw: express.raw({ type: '*/*' }), or await request.text().");
  const accepted = await Promise.all(keys.map((key) => sign(key, id, timestamp, body)));
  // Compares every pair of signatures to the end, so that the duration reveals nothing about a valid signature.
  const matches = signatures.split(" ").flatMap((given) => accepted.map((one) => isEqual(given, one)));
  check(matches.includes(true), "No signature matches: check the secret, and pass the body unchanged.");
  const age = Math.floor(Number(now) / 1000) - Number(timestamp);
  check(Math.abs(age) <= tolerance, "webhook-timestamp is not within the tolerance.");
  const event = parse(await new Blob([body as BlobPart]).text()) as { event?: unknown; data?: unknown } | undefined;
  check(typeof event?.event === "string" && event.data, "The body is not an event.");
  return { id, timestamp: new Date(Number(timestamp) * 1000), event: event as WebhookEvent };
}

/**
 * Signs an event as the service does. Use it to test a receiver.
 *
 * @param body The event, or its JSON text.
 * @param secret `whsec_…`
 */
export async function signWebhook(
  body: string | WebhookEvent,
  secret: string,
  { id = `msg_${crypto.randomUUID()}`, now = Date.now() }: SignOptions = {},
): Promise<{ body: string; headers: Record<string, string> }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = `${Math.floor(Number(now) / 1000)}`;
  const signature = await sign(keyOf(secret), id, timestamp, text);
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

function check(condition: unknown, message: string): asserts condition {
  if (!condition) throw new WebhookError(message);
}

function headerOf(headers: WebhookHeaders, end: string): string {
  const name = `webhook-${end}`;
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? "";
  return [Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]].flat().join(" ");
}

async function sign(secret: Key, id: string, timestamp: string, body: RawBody): Promise<string> {
  const message = await new Blob([`${id}.${timestamp}.`, body as BlobPart]).arrayBuffer();
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign("HMAC", key, message))))}`;
}

function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
