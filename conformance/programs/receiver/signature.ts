// Signs webhooks as the service does (D12).
import { createHmac } from "node:crypto";

/** Returns the key of a secret: the bytes that follow `whsec_` as base64. */
export const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ""), "base64");

/**
 * Returns the base64 HMAC-SHA256 of `id.timestamp.body`, without the version that precedes it in `webhook-signature`.
 * @param key the key of a secret, from `keyOf`
 * @param timestamp the text of `webhook-timestamp`
 */
export function macOf(key: Uint8Array, id: string, timestamp: string, body: Uint8Array): string {
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
}

/** Returns the value of `webhook-signature` for one secret. */
export const signatureOf = (secret: string, id: string, timestamp: string, body: Uint8Array): string =>
  `v1,${macOf(keyOf(secret), id, timestamp, body)}`;
