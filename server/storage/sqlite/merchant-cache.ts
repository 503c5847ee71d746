import type { DatabaseSync } from "node:sqlite";
import type { SecretHash } from "../../domain/keys.ts";
import type { KeyOwner } from "../../domain/merchants.ts";
import type { KeyRow } from "../limit-rows.ts";
import { bytesOf, OWNER_COLUMNS, toOwner, toStored, type StoredMerchant } from "../rows.ts";

/** A change by another process, such as a revoked key, takes effect within this many milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Caches merchants, keys and their owners, which every request needs. A transaction of this process that changes one of
 * them, or is rolled back, must clear the cache. A write by another process clears it at the next transaction, and for
 * reads a moment later, when SQLite's data_version shows the write. The delay is short enough, because such a process
 * (the keys command) changes no clock or epoch.
 */
export interface MerchantCache {
  merchantOf(id: string): StoredMerchant | undefined;
  /** The merchant with the key of this hash, unless the key is revoked. */
  ownerOf(hash: SecretHash): KeyOwner | undefined;
  /** The stored limits of a key, who created it, and whether it is revoked. */
  keyOf(id: string): KeyRow;
  clear(): void;
  /** Runs at the beginning of a transaction, so that the transaction sees the merchants and keys of this moment. */
  begun(): void;
  close(): void;
}

/** @param onForeignWrite called soon after another process has written to the database */
export function createMerchantCache(db: DatabaseSync, onForeignWrite: () => void): MerchantCache {
  const merchants = new Map<string, StoredMerchant>();
  const owners = new Map<SecretHash, KeyOwner>();
  const keys = new Map<string, KeyRow>();
  const select = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const selectOwner = db.prepare(
    `SELECT ${OWNER_COLUMNS} FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
      WHERE k.hash = ? AND k.revoked_at IS NULL`,
  );
  const selectKey = db.prepare("SELECT limits, created_by, revoked_at FROM api_keys WHERE id = ?");
  const clear = () => {
    merchants.clear();
    owners.clear();
    keys.clear();
  };
  const isForeign = foreignWrites(db);

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
      const known = owners.get(hash);
      if (known) return known;
      const row = selectOwner.get(bytesOf(hash));
      if (!row) return undefined;
      const owner = toOwner(row);
      owners.set(hash, owner);
      return owner;
    },
    keyOf(id) {
      if (!keys.has(id)) keys.set(id, selectKey.get(id));
      return keys.get(id);
    },
    clear,
    begun() {
      if (isForeign()) clear();
    },
    close: onForeignWrites(db, () => {
      clear();
      onForeignWrite();
    }),
  };
}

/** Returns a function that says whether another process has written to the database since the last call. */
function foreignWrites(db: DatabaseSync): () => boolean {
  const selectVersion = db.prepare("PRAGMA data_version");
  const version = () => selectVersion.get()!.data_version;
  let seen: unknown = version();
  return () => {
    const before = seen;
    seen = version();
    return seen !== before;
  };
}

/** Calls `react` soon after another process has written to the database. Returns a function that stops this. */
function onForeignWrites(db: DatabaseSync, react: () => void): () => void {
  const isForeign = foreignWrites(db);
  const timer = setInterval(() => {
    let isNew = true;
    try {
      isNew = isForeign();
    } catch {
      // The disk may have failed. The next lookup then reads the database and reports the error.
    }
    if (isNew) react();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
