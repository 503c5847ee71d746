import type { DatabaseSync } from "node:sqlite";
import type { KeyOwner } from "../../domain/merchants.ts";
import { OWNER_COLUMNS, toOwner, toStored, type StoredMerchant } from "../rows.ts";

/** A change by another process, such as a revoked key, takes effect within this many milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Caches merchants and the owners of keys, which every request needs. A transaction of this process that changes one of
 * them, or is rolled back, must clear the cache. A write by another process clears it a moment later, when SQLite's
 * data_version shows the write. That is soon enough, because such a process (the keys command) changes no clock or
 * epoch.
 */
export interface MerchantCache {
  merchantOf(id: string): StoredMerchant | undefined;
  /** The merchant with the key of this hash, unless the key is revoked. */
  ownerOf(hash: Uint8Array): KeyOwner | undefined;
  clear(): void;
  close(): void;
}

/** Converts a hash to a string that can be a Map key. */
const name = (hash: Uint8Array) => Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString("latin1");

/** @param onForeignWrite called soon after another process has written to the database */
export function createMerchantCache(db: DatabaseSync, onForeignWrite: () => void): MerchantCache {
  const merchants = new Map<string, StoredMerchant>();
  const owners = new Map<string, KeyOwner>();
  const select = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const selectOwner = db.prepare(
    `SELECT ${OWNER_COLUMNS} FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
      WHERE k.hash = ? AND k.revoked_at IS NULL`,
  );
  const clear = () => {
    merchants.clear();
    owners.clear();
  };

  return {
    merchantOf(id) {
      const known = merchants.get(id);
      if (known) return known;
      const row = select.get(id);
      if (!row) return undefined;
      const merchant = toStored(row);
      merchants.set(id, merchant);
      return merchant;
    },
    ownerOf(hash) {
      const known = owners.get(name(hash));
      if (known) return known;
      const row = selectOwner.get(hash);
      if (!row) return undefined;
      const owner = toOwner(row);
      owners.set(name(hash), owner);
      return owner;
    },
    clear,
    close: onForeignWrites(db, () => {
      clear();
      onForeignWrite();
    }),
  };
}

/** Calls `react` soon after another process has written to the database. Returns a function that stops this. */
function onForeignWrites(db: DatabaseSync, react: () => void): () => void {
  const selectVersion = db.prepare("PRAGMA data_version");
  const version = () => selectVersion.get()!.data_version;
  let seen: unknown = version();
  const timer = setInterval(() => {
    let current: unknown;
    try {
      current = version();
    } catch {
      // The disk may have failed. The next lookup then reads the database and reports the error.
    }
    const isNew = current === undefined || current !== seen;
    seen = current;
    if (isNew) react();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
