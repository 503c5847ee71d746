import type { DatabaseSync } from "node:sqlite";
import type { Merchant } from "../../domain/storage.ts";

/** How soon a change by another process (a revoked key, say) is seen, in milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Remembers whose key is whose, which every request asks. Whatever this process writes about merchants or keys clears
 * it; so does, a moment later, anything that another process wrote: SQLite counts those writes for us.
 */
export interface KeyCache {
  get(hash: Uint8Array): { merchant: Merchant; hash: Uint8Array } | undefined;
  put(hash: Uint8Array, merchant: Merchant): void;
  clear(): void;
  close(): void;
}

/** A hash as the name of an entry. */
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
      // A disk that fails, say: whatever is asked then is asked of the database, and fails there.
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
