import type { DatabaseSync } from "node:sqlite";
import type { SecretHash } from "../../domain/keys.ts";
import type { KeyOwner } from "../../domain/merchants.ts";
import type { KeyRow } from "../limit-rows.ts";
import { bytesOf, OWNER_COLUMNS, toOwner, toStored, type StoredMerchant } from "../rows.ts";

/**
 * Caches merchants, keys and their owners, which every request needs. A transaction that changes one of them, or is rolled
 * back, must clear the cache.
 */
export interface MerchantCache {
  merchantOf(id: string): StoredMerchant | undefined;
  /** The merchant with the key of this hash, unless the key is revoked. */
  ownerOf(hash: SecretHash): KeyOwner | undefined;
  /** The stored limits of a key, who created it, and whether it is revoked. */
  keyOf(id: string): KeyRow;
  clear(): void;
}

export function createMerchantCache(db: DatabaseSync): MerchantCache {
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
  };
}
