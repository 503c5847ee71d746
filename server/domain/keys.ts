import { hash } from "node:crypto";

/** Returns a key's SHA-256, the only form in which a key is stored. Keys are random, so they need no slow hash. */
export function hashKey(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}
