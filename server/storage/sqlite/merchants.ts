import type { ApiKey, Merchant, Merchants, WebhookSecrets } from "../../domain/storage.ts";
import { optional, type Context, type Row } from "./context.ts";

export function merchants({ db, write, keys }: Context): Merchants {
  const insertMerchant = db.prepare(
    "INSERT INTO merchants (id, name, created_at, clock_offset, webhook_secret) VALUES (?, ?, ?, ?, ?)",
  );
  const insertKey = db.prepare(
    "INSERT INTO api_keys (id, merchant_id, hash, hint, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectMerchants = db.prepare("SELECT * FROM merchants ORDER BY created_at, id");
  const selectMerchant = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const selectKeys = db.prepare("SELECT * FROM api_keys ORDER BY created_at, id");
  const selectKey = db.prepare("SELECT * FROM api_keys WHERE hash = ?");
  const selectOwner = db.prepare(
    "SELECT m.*, k.hash FROM api_keys k JOIN merchants m ON m.id = k.merchant_id WHERE k.hash = ? AND k.revoked_at IS NULL",
  );
  const updateRevoked = db.prepare("UPDATE api_keys SET revoked_at = ? WHERE id = ?");
  const updateSecrets = db.prepare(
    `UPDATE merchants SET previous_webhook_secret = webhook_secret, webhook_secret = ?,
       previous_webhook_secret_expires_at = ? WHERE id = ? RETURNING *`,
  );

  return {
    async insertMerchant({ id, name, createdAt, clockOffset }, webhookSecret) {
      await write(() => insertMerchant.run(id, name, createdAt, clockOffset, webhookSecret));
    },
    async listMerchants() {
      return selectMerchants.all().map(toMerchant);
    },
    async insertKey({ id, merchantId, hash, hint, createdAt, revokedAt }) {
      await write(() => insertKey.run(id, merchantId, hash, hint, createdAt, revokedAt ?? null));
    },
    async listKeys() {
      return selectKeys.all().map(toKey);
    },
    async findKey(hash) {
      const row = selectKey.get(hash);
      return row && toKey(row);
    },
    setRevoked: (keyId, revokedAt) =>
      write(() => {
        keys.clear();
        return updateRevoked.run(revokedAt ?? null, keyId).changes === 1;
      }),
    async findMerchantByKey(hash) {
      const known = keys.get(hash);
      if (known) return known;
      const row = selectOwner.get(hash);
      if (!row) return undefined;
      const found = { merchant: toMerchant(row), hash: row.hash as Uint8Array };
      keys.put(found.hash, found.merchant);
      return found;
    },
    async findMerchant(id) {
      const row = selectMerchant.get(id);
      return row && toMerchant(row);
    },
    async readSecrets(merchantId) {
      return toSecrets(selectMerchant.get(merchantId)!);
    },
    rotateSecret: (merchantId, secret, expiresAt) =>
      write(() => toSecrets(updateSecrets.get(secret, expiresAt, merchantId)!)),
  };
}

export function toMerchant(row: Row): Merchant {
  return {
    id: row.id as string,
    name: row.name as string,
    createdAt: row.created_at as number,
    clockOffset: row.clock_offset as number,
  };
}

export function toSecrets(row: Row): WebhookSecrets {
  const current = row.webhook_secret as string;
  if (row.previous_webhook_secret === null) return { current };
  return {
    current,
    previous: {
      secret: row.previous_webhook_secret as string,
      expiresAt: row.previous_webhook_secret_expires_at as number,
    },
  };
}

function toKey(row: Row): ApiKey {
  const revokedAt = optional<number>(row.revoked_at!);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    hash: row.hash as Uint8Array,
    hint: row.hint as string,
    createdAt: row.created_at as number,
    ...(revokedAt === undefined ? {} : { revokedAt }),
  };
}
