import { hash } from "node:crypto";

/** A stored API key. Only its SHA-256 is stored, never its text. */
export interface ApiKey {
  id: string;
  merchantId: string;
  hash: Uint8Array;
  /** The last four characters, so that people can tell keys apart. */
  hint: string;
  /** The name that people gave the key. */
  name?: string;
  /** Real time. */
  createdAt: number;
  /** When a request last used the key, to about a minute; absent if none has. Real time. */
  usedAt?: number;
  /** Real time. */
  revokedAt?: number;
}

/** The most keys of a merchant that are not revoked. */
export const MOST_KEYS = 100;

/** A request used this key at `usedAt`, in real time. */
export interface KeyUse {
  merchantId: string;
  keyId: string;
  usedAt: number;
}

/** Returns a key's SHA-256, the only form in which a key is stored. Keys are random, so they need no slow hash. */
export function hashKey(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}
