import type { DatabaseSync } from "node:sqlite";
import type { Merchant } from "../../domain/types.ts";

/** How soon a change by another process, such as a revoked key, takes effect, in milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Caches the owner of each key, which every request needs. A write to merchants or keys by this process clears the cache
 * immediately; a write by another process clears it a moment later, when SQLite's data_version shows it.
 */
export interface KeyCache {
  get(hash: Uint8Array): { merchant: Merchant; hash: Uint8Array } | undefined;
  put(hash: Uint8Array, merchant: Merchant): void;
  clear(): void;
  close(): void;
}

/** A hash as a Map key. */
const name = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString("latin1");

export function createKeyCache(db: DatabaseSync): KeyCache {
  const known = new Map<string, { merchant: Merchant; hash: Uint8Array }>();
  const selectVersion = db.prepare("PRAGMA data_version");
  const version = () => selectVersion.get()!.data_version;

  let seen: unknown = version();
  const timer = setInterval(() => {
    let current: unknown;
    try {
      current = version();
    } catch {
      // The disk may have failed. The next look-up then goes to the database and reports the error.
    }
    if (current === undefined || current !== seen) known.clear();
    seen = current;
  }, LOOK_EVERY_MS);
  timer.unref();

  return {
    get: (hash) => known.get(name(hash)),
    put: (hash, merchant) => void known.set(name(hash), { merchant, hash }),
    clear: () => known.clear(),
    close: () => clearInterval(timer),
  };
}
