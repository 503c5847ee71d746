import { WebhookError } from "./errors.ts";
import type { WebhookEvent } from "./types.ts";

/** The headers of a request: of `fetch`, of Node, or a plain object in any case. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now, either way, in seconds. Default 300. */
  tolerance?: number;
  /** The time to judge by, in ms since 1970. Default: the clock. */
  now?: number | Date;
}

export interface SignOptions {
  /** The same on every delivery of an event. Default: a new one. */
  id?: string;
  /** When the attempt is made, in ms since 1970. Default: the clock. */
  now?: number | Date;
}

type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/**
 * Checks who sent a webhook and when (D12), and returns its event. Deliveries may repeat: remember `webhook-id`.
 * Keep a default branch for events that come to be later.
 *
 * @param body As it arrived, text or bytes. A body that a framework has parsed is refused: its bytes are lost.
 * @param secret `whsec_…`; several while one takes over from another.
 * @throws {WebhookError} It must not be trusted. Answer with 400.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const bytes = bytesOf(body);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(headers, name),
  );
  trust(id && timestamp && signatures, "webhook-id, webhook-timestamp or webhook-signature is missing.");
  const secrets = [secret].flat();
  trust(secrets.length > 0, "There is no secret to check with.");
  const expected = await Promise.all(secrets.map((one) => sign(one, id, timestamp, bytes)));
  // Every signature is compared with every secret's, to its end: the time taken tells nothing.
  const matches = signatures.split(" ").flatMap((given) => expected.map((one) => isEqual(given, one)));
  trust(matches.includes(true), "No signature fits: the secret is another one, or the body was changed on its way.");
  const age = Math.floor(Number(now) / 1000) - (/^\d+$/.test(timestamp) ? Number(timestamp) : NaN);
  trust(Math.abs(age) <= tolerance, "webhook-timestamp is too old, too far ahead, or no time at all.");
  const event = parse(bytes);
  trust(typeof event?.event === "string" && event.data, "The body is not an event.");
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
  const signature = await sign(secret, id, timestamp, encoder.encode(text));
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

function bytesOf(body: unknown): Bytes {
  if (typeof body === "string") return encoder.encode(body);
  const isBinary = body instanceof ArrayBuffer || ArrayBuffer.isView(body);
  trust(isBinary, "The body was parsed already. Pass it raw: express.raw({ type: '*/*' }), or await request.text().");
  return new Uint8Array(body as ArrayBuffer);
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return [value].flat().join(" ");
}

function parse(bytes: Bytes): { event?: unknown; data?: unknown } | undefined {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as object;
  } catch {
    return undefined;
  }
}

async function sign(secret: string, id: string, timestamp: string, body: Bytes): Promise<string> {
  const message = new Blob([`${id}.${timestamp}.`, body]);
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, await message.arrayBuffer());
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}

/** The bytes of a secret. The message must not repeat it. */
function keyOf(secret: string): Bytes {
  let binary = "";
  try {
    if (typeof secret === "string") binary = atob(secret.replace(/^whsec_/, ""));
  } catch {
    // Not base64: nothing was decoded.
  }
  trust(binary, "The secret must be whsec_ and base64, as the service gave it.");
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
