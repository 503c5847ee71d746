import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { Actor } from "./audit.ts";

/** A webhook secret that a rotation replaced. It signs until `expiresAt` (D12). */
export interface PreviousSecret {
  secret: string;
  expiresAt: number;
}

export interface WebhookSecrets {
  current: string;
  /** Newest first. Secrets that have expired may still be listed. */
  previous: PreviousSecret[];
}

export interface Rotation {
  keepMs: number;
  maxPrevious: number;
  actor: Actor;
}

const PREFIX = "whsec_";
const BYTES = 32;

/**
 * Makes a webhook secret: `whsec_` and the base64 of 32 bytes (D12, Standard Webhooks 1.0).
 * @param random returns the requested number of unpredictable bytes, as `crypto.randomBytes` does
 */
export function newSecret(random: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(random(BYTES)).toString("base64");
}

const MOST_KEY_OBJECTS = 1_000;

/**
 * Returns a function that returns the HMAC-SHA256 of a text. The function keeps the key objects of recent secrets, because
 * Node takes 10 µs to use a secret that is not yet a key object.
 * @param bytesOf returns the bytes of a secret
 */
export function hmacs(encoding: "base64" | "hex", bytesOf: (secret: string) => Uint8Array) {
  const keys = new Map<string, KeyObject>();
  return (secret: string, text: string): string => {
    let key = keys.get(secret);
    if (!key) {
      if (keys.size >= MOST_KEY_OBJECTS) keys.clear();
      key = createSecretKey(bytesOf(secret));
      keys.set(secret, key);
    }
    return createHmac("sha256", key).update(text).digest(encoding);
  };
}
