import { chaosDetails } from "../../domain/chaos.ts";
import { receiverOf } from "../../domain/events.ts";
import { sandboxTime } from "../../domain/time.ts";
import { MOST_KEYS } from "../../domain/keys.ts";
import type { MerchantStore } from "../../domain/merchants.ts";
import { keyCreated, toKey, toMerchant } from "../rows.ts";
import type { Context } from "./context.ts";
import { listenerEnder } from "./listeners.ts";
import { secretReader } from "./secrets.ts";

export function merchants({ db, write, writeUnflushed, now, merchantOf, cache, audit }: Context): MerchantStore {
  const secretsOf = secretReader(db);
  const insertMerchant = db.prepare("INSERT INTO merchants (id, name, created_at, webhook_secret) VALUES (?, ?, ?, ?)");
  const insertKey = db.prepare(
    "INSERT INTO api_keys (id, merchant_id, hash, hint, name, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const countKeys = db.prepare("SELECT count(*) AS count FROM api_keys WHERE merchant_id = ? AND revoked_at IS NULL");
  const selectMerchants = db.prepare("SELECT * FROM merchants ORDER BY created_at, id");
  const selectKeys = db.prepare("SELECT * FROM api_keys ORDER BY created_at, id");
  const selectActive = db.prepare(
    "SELECT * FROM api_keys WHERE merchant_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC",
  );
  const selectRevoked = db.prepare(
    `SELECT * FROM api_keys WHERE merchant_id = ? AND revoked_at IS NOT NULL
     ORDER BY revoked_at DESC, id DESC LIMIT ${MOST_KEYS}`,
  );
  const recordUse = db.prepare("UPDATE api_keys SET used_real = max(coalesce(used_real, 0), ?) WHERE id = ?");
  const selectKey = db.prepare("SELECT * FROM api_keys WHERE hash = ?");
  const selectOwner = db.prepare("SELECT merchant_id, revoked_at FROM api_keys WHERE id = ?");
  const setRevoked = db.prepare("UPDATE api_keys SET revoked_at = ? WHERE id = ?");
  const endListener = listenerEnder(db);
  const retireSecret = db.prepare(
    `INSERT INTO previous_webhook_secrets (merchant_id, number, secret, expires_at)
     SELECT id, 1 + (SELECT coalesce(max(number), 0) FROM previous_webhook_secrets WHERE merchant_id = id),
       webhook_secret, ? FROM merchants WHERE id = ?`,
  );
  const setSecret = db.prepare("UPDATE merchants SET webhook_secret = ? WHERE id = ?");
  const setWebhookUrl = db.prepare("UPDATE merchants SET webhook_url = ? WHERE id = ?");
  const setChaos = db.prepare("UPDATE merchants SET chaos = ? WHERE id = ?");
  const forgetSecrets = db.prepare(
    `DELETE FROM previous_webhook_secrets WHERE merchant_id = :merchant AND (expires_at <= :now OR number <=
       (SELECT max(number) FROM previous_webhook_secrets WHERE merchant_id = :merchant) - :kept)`,
  );

  // When each merchant's bucket of requests is full again.
  const fullAgain = new Map<string, number>();

  return {
    // Only one server may use the file.
    exclusively: (work) => work(),
    insertMerchant: ({ id, name, createdAt }, webhookSecret, actor) =>
      write(() => {
        insertMerchant.run(id, name, createdAt, webhookSecret);
        audit.record({ actor, action: "merchant.create", merchantId: id, details: { name } });
      }),
    async listMerchants() {
      return selectMerchants.all().map(toMerchant);
    },
    insertKey: ({ id, merchantId, hash, hint, name, createdAt, revokedAt }, actor) =>
      write(() => {
        if ((countKeys.get(merchantId)!.count as number) >= MOST_KEYS) return false;
        insertKey.run(id, merchantId, hash, hint, name ?? null, createdAt, revokedAt ?? null);
        audit.record(keyCreated({ id, merchantId, name }, actor));
        return true;
      }),
    async listKeys() {
      return selectKeys.all().map(toKey);
    },
    async listKeysOf(merchantId) {
      return [...selectActive.all(merchantId), ...selectRevoked.all(merchantId)].map(toKey);
    },
    // No request waits for it, and no cached owner contains it.
    recordKeyUses: (uses) =>
      writeUnflushed(() => {
        for (const { keyId, usedAt } of uses) recordUse.run(usedAt, keyId);
      }),
    async findKey(hash) {
      const row = selectKey.get(hash);
      return row && toKey(row);
    },
    revokeKey: (keyId, revokedAt, actor) =>
      write(() => {
        const key = selectOwner.get(keyId);
        if (key?.revoked_at === null) {
          cache.clear();
          setRevoked.run(revokedAt, keyId);
          const merchantId = key.merchant_id as string;
          endListener(merchantId, keyId);
          audit.record({ actor, action: "key.revoke", merchantId, details: { key: keyId } });
        }
        return key !== undefined;
      }),
    async findMerchantByKey(hash) {
      return cache.ownerOf(hash);
    },
    async findMerchant(id) {
      const found = merchantOf(id);
      if (!found) return undefined;
      const { epoch: _, ...merchant } = found;
      return merchant;
    },
    // Only one server uses the file, so its memory is enough.
    async takeRequest(merchantId, perSecond) {
      const time = now();
      const interval = 1000 / perSecond;
      const fullAt = Math.max(fullAgain.get(merchantId) ?? time, time) + interval;
      // A hundredth of a request makes up for rounding.
      if (fullAt > time + 1000 + interval / 100) return false;
      fullAgain.set(merchantId, fullAt);
      return true;
    },
    async readSecrets(merchantId) {
      return secretsOf(merchantId);
    },
    revealSecrets: (merchantId, actor) =>
      write(() => {
        audit.record({ actor, action: "secret.reveal", merchantId, details: {} });
        return secretsOf(merchantId);
      }),
    rotateSecret: (merchantId, secret, { keepMs, maxPrevious, actor }) =>
      write(() => {
        const at = sandboxTime(merchantOf(merchantId)!, now());
        retireSecret.run(at + keepMs, merchantId);
        setSecret.run(secret, merchantId);
        forgetSecrets.run({ merchant: merchantId, now: at, kept: maxPrevious });
        audit.record({ actor, action: "secret.rotate", merchantId, details: {} });
        return secretsOf(merchantId);
      }),
    setDefaultWebhook: (merchantId, url, actor) =>
      write(() => {
        cache.clear();
        setWebhookUrl.run(url ?? null, merchantId);
        // The path and query of a URL may contain a secret.
        const action = url === undefined ? "default-webhook.remove" : "default-webhook.set";
        audit.record({ actor, action, merchantId, details: url === undefined ? {} : { receiver: receiverOf(url) } });
      }),
    setChaos: (merchantId, chaos, actor) =>
      write(() => {
        cache.clear();
        setChaos.run(chaos ? JSON.stringify(chaos) : null, merchantId);
        audit.record({ actor, action: "sandbox.chaos", merchantId, details: chaosDetails(chaos) });
      }),
  };
}
