import { chaosDetails } from "../../domain/chaos.ts";
import { receiverOf } from "../../domain/events.ts";
import { MOST_KEYS } from "../../domain/keys.ts";
import type { KeyOwner, MerchantStore } from "../../domain/merchants.ts";
import { sandboxTime } from "../../domain/time.ts";
import type { WebhookSecrets } from "../../domain/secrets.ts";
import { keyCreated, toKey, toMerchant } from "../rows.ts";
import { recordAction } from "./executor.ts";
import { unnested, type Context } from "./context.ts";
import type { Query } from "./database.ts";
import { endListenerOf } from "./listeners.ts";
import { lockMerchant, required } from "./merchant-rows.ts";
import { requestRates } from "./request-rates.ts";
import { readSecrets } from "./secrets.ts";

/** A row that nothing else locks. Not every distributed database has advisory locks. */
const EXCLUSIVE = "SELECT version FROM schema_migrations WHERE version = 1 FOR UPDATE";

const COUNT_KEYS = "SELECT count(*) AS count FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL";
const SELECT_ACTIVE = `SELECT * FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL
  ORDER BY created_at DESC, id DESC`;
const SELECT_REVOKED = `SELECT * FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NOT NULL
  ORDER BY revoked_at DESC, id DESC LIMIT ${MOST_KEYS}`;
const RECORD_USES = `UPDATE api_keys k SET used_real = greatest(k.used_real, u.used_real)
  FROM ${unnested(["text", "text", "bigint"])} AS u (merchant_id, id, used_real)
  WHERE k.merchant_id = u.merchant_id AND k.id = u.id`;

export function merchants(context: Context): MerchantStore {
  const { db, lane } = context;
  // Requests look their key up in the database, together, so that a revocation or a move of the clock by any process
  // takes effect immediately.
  const findOwner = lane((hashes: Uint8Array[], { read }) => findOwners(read, hashes), {
    concurrency: 2,
    largest: 256,
  });

  return {
    exclusively: (work) =>
      db.transaction(async (query) => {
        await query(EXCLUSIVE);
        return work();
      }),
    insertMerchant: ({ id, name, createdAt }, webhookSecret, actor) =>
      db.transaction(async (query) => {
        const values = [id, name, createdAt, webhookSecret];
        await query("INSERT INTO merchants (id, name, created_at, webhook_secret) VALUES ($1, $2, $3, $4)", values);
        await recordAction(query, { actor, action: "merchant.create", merchantId: id, details: { name } });
      }),
    async listMerchants() {
      const { rows } = await db.read("SELECT * FROM merchants ORDER BY created_at, id");
      return rows.map(toMerchant);
    },
    insertKey: ({ id, merchantId, hash, hint, name, createdAt, revokedAt }, actor) =>
      db.transaction(async (query) => {
        // Keys that several processes create at once are counted one after the other.
        await lockMerchant(query, merchantId, "orders");
        const { rows } = await query(COUNT_KEYS, [merchantId]);
        if ((rows[0]!.count as number) >= MOST_KEYS) return false;
        await query(
          `INSERT INTO api_keys (id, merchant_id, hash, hint, name, created_at, revoked_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7)`,
          [id, merchantId, Buffer.from(hash), hint, name ?? null, createdAt, revokedAt ?? null],
        );
        await recordAction(query, keyCreated({ id, merchantId, name }, actor));
        return true;
      }),
    async listKeys() {
      const { rows } = await db.read("SELECT * FROM api_keys ORDER BY created_at, id");
      return rows.map(toKey);
    },
    async listKeysOf(merchantId) {
      const lists = [await db.read(SELECT_ACTIVE, [merchantId]), await db.read(SELECT_REVOKED, [merchantId])];
      return lists.flatMap(({ rows }) => rows.map(toKey));
    },
    async recordKeyUses(uses) {
      const columns = [
        uses.map(({ merchantId }) => merchantId),
        uses.map(({ keyId }) => keyId),
        uses.map(({ usedAt }) => usedAt),
      ];
      await db.transaction((query) => query(RECORD_USES, columns), { repeatable: true });
    },
    async findKey(hash) {
      const { rows } = await db.read("SELECT * FROM api_keys WHERE hash = $1", [Buffer.from(hash)]);
      return rows[0] && toKey(rows[0]);
    },
    revokeKey: (keyId, revokedAt, actor) =>
      db.transaction(
        async (query) => {
          const [owner] = (await query("SELECT merchant_id FROM api_keys WHERE id = $1", [keyId])).rows;
          if (!owner) return false;
          await lockMerchant(query, owner.merchant_id as string, "orders");
          const { rows } = await query("SELECT merchant_id, revoked_at FROM api_keys WHERE id = $1 FOR UPDATE", [
            keyId,
          ]);
          const [key] = rows;
          if (key?.revoked_at === null) {
            const merchantId = key.merchant_id as string;
            const place = [merchantId, keyId, revokedAt];
            await query("UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2", place);
            await endListenerOf(query, merchantId, keyId);
            await recordAction(query, { actor, action: "key.revoke", merchantId, details: { key: keyId } });
          }
          return key !== undefined;
        },
        { repeatable: true },
      ),
    findMerchantByKey: (hash) => findOwner(hash),
    async findMerchant(id) {
      const { rows } = await db.read("SELECT * FROM merchants WHERE id = $1", [id]);
      return rows[0] && toMerchant(rows[0]);
    },
    takeRequest: requestRates(context),
    readSecrets: (merchantId) => secretsOf(db.read, merchantId),
    revealSecrets: (merchantId, actor) =>
      db.transaction(async (query) => {
        await recordAction(query, { actor, action: "secret.reveal", merchantId, details: {} });
        return secretsOf(query, merchantId);
      }),
    rotateSecret: (merchantId, secret, { keepMs, maxPrevious, actor }) =>
      db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "orders");
        const at = sandboxTime(merchant, merchant.now);
        await replaceSecret(query, { merchantId, secret, at, expiresAt: at + keepMs, maxPrevious });
        await recordAction(query, { actor, action: "secret.rotate", merchantId, details: {} });
        return secretsOf(query, merchantId);
      }),
    setDefaultWebhook: (merchantId, url, actor) =>
      db.transaction(async (query) => {
        await query("UPDATE merchants SET webhook_url = $2 WHERE id = $1", [merchantId, url ?? null]);
        // The path and query of a URL may contain a secret.
        const action = url === undefined ? "default-webhook.remove" : "default-webhook.set";
        const details: Record<string, string> = url === undefined ? {} : { receiver: receiverOf(url) };
        await recordAction(query, { actor, action, merchantId, details });
      }),
    setChaos: (merchantId, chaos, actor) =>
      db.transaction(async (query) => {
        const stored = chaos ? JSON.stringify(chaos) : null;
        await query("UPDATE merchants SET chaos = $2 WHERE id = $1", [merchantId, stored]);
        await recordAction(query, { actor, action: "sandbox.chaos", merchantId, details: chaosDetails(chaos) });
      }),
  };
}

/** Converts a hash to a string that can be a Map key. */
const name = (hash: Uint8Array) => Buffer.from(hash).toString("latin1");

async function findOwners(read: Query, hashes: readonly Uint8Array[]): Promise<(KeyOwner | undefined)[]> {
  const { rows } = await read(
    `SELECT m.*, k.id AS key_id, k.hash FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
     WHERE k.hash = ANY($1::bytea[]) AND k.revoked_at IS NULL`,
    [hashes.map((hash) => Buffer.from(hash))],
  );
  const owners = new Map(
    rows.map((row) => {
      const hash = row.hash as Buffer;
      return [name(hash), { merchant: toMerchant(row), keyId: row.key_id as string, hash }];
    }),
  );
  return hashes.map((hash) => owners.get(name(hash)));
}

async function secretsOf(query: Query, merchantId: string): Promise<WebhookSecrets> {
  return required(await readSecrets(query, [merchantId]), merchantId);
}

interface Replacement {
  merchantId: string;
  secret: string;
  /** The merchant's sandbox time. */
  at: number;
  /** When the replaced secret expires. */
  expiresAt: number;
  maxPrevious: number;
}

async function replaceSecret(query: Query, { merchantId, secret, at, expiresAt, maxPrevious }: Replacement) {
  const last = "(SELECT coalesce(max(number), 0) FROM previous_webhook_secrets WHERE merchant_id = $1)";
  await Promise.all([
    query(
      `INSERT INTO previous_webhook_secrets (merchant_id, number, secret, expires_at)
       SELECT id, 1 + ${last}, webhook_secret, $2 FROM merchants WHERE id = $1`,
      [merchantId, expiresAt],
    ),
    query("UPDATE merchants SET webhook_secret = $2 WHERE id = $1", [merchantId, secret]),
    query(
      `DELETE FROM previous_webhook_secrets WHERE merchant_id = $1 AND (expires_at <= $2 OR number <= ${last} - $3)`,
      [merchantId, at, maxPrevious],
    ),
  ]);
}
