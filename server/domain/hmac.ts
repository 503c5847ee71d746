import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

const MOST_KEYS = 1_000;

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
      if (keys.size >= MOST_KEYS) keys.clear();
      key = createSecretKey(bytesOf(secret));
      keys.set(secret, key);
    }
    return createHmac("sha256", key).update(text).digest(encoding);
  };
}
