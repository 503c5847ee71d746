import { createHmac, createSecretKey, type KeyObject } from "node:crypto";

/** The secrets used last. Node takes 10 µs to use a secret that is not yet a key object. */
const keys = new Map<string, KeyObject>();
const MOST_KEYS = 1_000;

/**
 * Returns the HMAC-SHA256 of a text, in base64 or hexadecimal digits.
 * @param bytesOf returns the bytes of the secret
 */
export function hmac(
  secret: string,
  text: string,
  encoding: "base64" | "hex",
  bytesOf: (secret: string) => Uint8Array = (given) => Buffer.from(given, "utf8"),
): string {
  let key = keys.get(secret);
  if (!key) {
    if (keys.size >= MOST_KEYS) keys.clear();
    key = createSecretKey(bytesOf(secret));
    keys.set(secret, key);
  }
  return createHmac("sha256", key).update(text).digest(encoding);
}
