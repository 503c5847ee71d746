import type { Actor, AuditAction } from "../../domain/audit.ts";
import { receiverOf } from "../../domain/events.ts";
import { MOST_KEYS, REPLACED_SECRETS, type ApiKey, type WebhookSecrets } from "../../domain/keys.ts";
import { limitTexts, termTexts } from "../../domain/limits.ts";
import { requireActive, type MerchantStore } from "../../domain/merchants.ts";
import { chaosDetails } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { columnsOf } from "../schema.ts";
import { bytesOf, toKey, toMerchant, toOwner, type Row } from "../rows.ts";
import { entryId, recordAction, wasRecorded } from "./audit.ts";
import { lockMerchant, required, type Lock } from "./locked-merchant.ts";
import { given, run, runAll, type Executor, type Work, type WriteOptions } from "./query.ts";
import { signingQuery, toSecrets } from "./secrets.ts";
import { endSessionsOf, eyesOf } from "./sign-in.ts";

const INSERT_MERCHANT = `INSERT INTO merchants (id, name, created_at, webhook_secret, customer_secret)
  VALUES (:id, :name, :created, :webhook, :customers) ON CONFLICT (id) DO NOTHING`;
/** Every request looks its key up, so that a revocation or a move of the clock takes effect at once. */
const OWNER = `SELECT m.*, k.id AS key_id, k.scopes FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
  WHERE k.hash = given.hash AND k.revoked_at IS NULL LIMIT 1`;
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const SELECT_MERCHANTS = "SELECT * FROM merchants ORDER BY created_at, id";
const SET = (column: string) => `UPDATE merchants SET ${column} = :value WHERE id = :merchant`;

const COUNT_KEYS = "SELECT count(*) AS count FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL";
const INSERT_KEY = `INSERT INTO api_keys (id, merchant_id, hash, hint, name, scopes, created_by, created_at, revoked_at)
  VALUES (:id, :merchant, :hash, :hint, :name, :scopes, :by, :created, :revoked)`;
const SELECT_KEYS = "SELECT * FROM api_keys ORDER BY created_at, id";
const SELECT_ACTIVE = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL
  ORDER BY created_at DESC, id DESC`;
const SELECT_REVOKED = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NOT NULL
  ORDER BY revoked_at DESC, id DESC LIMIT ${MOST_KEYS}`;
const RECORD_USES = `UPDATE api_keys AS k SET used_real = greatest(coalesce(k.used_real, 0), given.used_real)
  FROM :rows WHERE k.merchant_id = given.merchant_id AND k.id = given.id`;
const SELECT_WITH_ID = "SELECT * FROM api_keys WHERE merchant_id = :merchant AND id = :id";
const SELECT_OWNER = "SELECT merchant_id FROM api_keys WHERE id = :id";
const LIMIT_KEY = "UPDATE api_keys SET limits = :limits WHERE merchant_id = :merchant AND id = :id";
const REVOKE_ALL =
  "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND revoked_at IS NULL RETURNING id";
const REVOKE = "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND id = :id AND revoked_at IS NULL";

const LAST_SECRET = "(SELECT coalesce(max(number), 0) FROM previous_webhook_secrets WHERE merchant_id = :merchant)";
const REPLACE_SECRET = [
  `INSERT INTO previous_webhook_secrets (merchant_id, number, secret, expires_at)
     SELECT id, 1 + ${LAST_SECRET}, webhook_secret, :expires FROM merchants WHERE id = :merchant`,
  "UPDATE merchants SET webhook_secret = :secret WHERE id = :merchant",
  `DELETE FROM previous_webhook_secrets
     WHERE merchant_id = :merchant AND (expires_at <= :at OR number <= ${LAST_SECRET} - :kept)`,
];

const STATE_ACTIONS = { suspended: "merchant.suspend", closed: "merchant.close", active: "merchant.reopen" } as const;

/** Revokes all keys of a locked merchant, and signs its people out. Returns the counts. */
function* endAccess(merchant: string, at: number): Work<Record<string, string>> {
  const { rows } = yield* run(REVOKE_ALL, { merchant, at });
  const ended = yield* endSessionsOf(merchant);
  return { keys: String(rows.length), sessions: String(ended.length) };
}

function* addKey(key: ApiKey, actor: Actor): Work<void> {
  const { id, merchantId, hash, hint, name, createdAt: created, revokedAt: revoked } = key;
  const by = yield* eyesOf(actor, merchantId);
  const scopes = key.scopes?.join();
  yield* run(INSERT_KEY, { id, merchant: merchantId, hash: bytesOf(hash), hint, name, scopes, by, created, revoked });
  const details = { key: id, ...(name !== undefined && { name }), ...(scopes !== undefined && { scopes }) };
  yield* recordAction({ actor, action: "key.create", merchantId, details });
}

const toJson = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

export function merchants(executor: Executor): Omit<MerchantStore, "exclusively" | "takeRequest"> {
  const { read, readAll, write, sealing } = executor;
  const findOwner = executor.finder(OWNER, columnsOf("api_keys", ["hash"]));
  const secretsIn = (id: string, rows: readonly Row[]) => required(toSecrets(rows, sealing), id);
  function* readSecrets(id: string): Work<WebhookSecrets> {
    const [found] = yield [signingQuery(id)];
    return secretsIn(id, found!.rows);
  }

  /** Returns an operation that replaces what a merchant has in a column, as JSON. */
  const replacing =
    <T>(column: string, action: AuditAction, textsOf: (value: T | undefined) => Record<string, string>, lock?: Lock) =>
    (merchantId: string, value: T | undefined, actor: Actor) =>
      write(function* () {
        if (lock) yield* lockMerchant(merchantId, lock);
        yield* run(SET(column), { merchant: merchantId, value: toJson(value) });
        yield* recordAction({ actor, action, merchantId, details: textsOf(value) });
      });

  /** Changes a key. Resolves with false if there is no such key. */
  const changeKey = (id: string, change: (merchantId: string) => Work<void>, options: WriteOptions) =>
    write(function* () {
      const [owner] = (yield* run(SELECT_OWNER, { id })).rows;
      if (!owner) return false;
      // `alone`, because creates of other processes judge the key while they share the merchant.
      const merchant = yield* lockMerchant(owner.merchant_id, "alone");
      yield* change(merchant.id);
      return true;
    }, options);

  return {
    async findMerchantByKey(hash) {
      const row = await findOwner({ hash: bytesOf(hash) });
      return row && toOwner(row);
    },
    async findMerchant(merchant) {
      const [row] = await read({ text: SELECT_MERCHANT, values: { merchant } });
      return row && toMerchant(row);
    },
    insertMerchant: ({ id, name, createdAt }, { webhook, customers }, actor, firstKey) =>
      write(function* () {
        const values = { id, name, created: createdAt, customers, webhook: sealing.seal(id, webhook) };
        if ((yield* run(INSERT_MERCHANT, values)).count === 0) return;
        yield* recordAction({ actor, action: "merchant.create", merchantId: id, details: { name } });
        if (firstKey) yield* addKey(firstKey, actor);
      }),
    renameMerchant: (merchantId, name, actor) =>
      write(function* () {
        const { name: from } = yield* lockMerchant(merchantId, "orders");
        yield* run(SET("name"), { merchant: merchantId, value: name });
        yield* recordAction({ actor, action: "merchant.rename", merchantId, details: { from, to: name } });
      }),
    setMerchantState(merchantId, state, actor) {
      const entry = entryId();
      return write(
        function* () {
          // `alone`, because creates of other processes judge the state while they share the merchant.
          const locked = yield* lockMerchant(merchantId, "alone");
          if (locked.state === state || (yield* wasRecorded(merchantId, entry))) return true;
          if (locked.state === "closed") return false;
          yield* run(SET("merchant_state"), { merchant: merchantId, value: state });
          const details = state === "closed" ? yield* endAccess(merchantId, locked.now) : {};
          yield* recordAction({ actor, action: STATE_ACTIONS[state ?? "active"], merchantId, details }, entry);
          return true;
        },
        { repeatable: true },
      );
    },
    setMerchantLimits: replacing("limits", "merchant.limit", limitTexts, "alone"),
    setMerchantTerms: replacing("terms", "merchant.terms", termTexts, "orders"),
    setChaos: replacing("chaos", "sandbox.chaos", chaosDetails),
    setDefaultWebhook: (merchantId, url, actor) =>
      write(function* () {
        yield* run(SET("webhook_url"), { merchant: merchantId, value: url });
        // The path and query of a URL may contain a secret.
        const action = url === undefined ? "default-webhook.remove" : "default-webhook.set";
        const details: Record<string, string> = url === undefined ? {} : { receiver: receiverOf(url) };
        yield* recordAction({ actor, action, merchantId, details });
      }),
    async listMerchants() {
      return (await read({ text: SELECT_MERCHANTS })).map(toMerchant);
    },
    insertKey: (key, actor) =>
      write(
        function* () {
          const { id, merchantId: merchant } = key;
          // The lock makes concurrent creations of keys count one after the other.
          const locked = yield* lockMerchant(merchant, "orders");
          const [known] = (yield* run(SELECT_WITH_ID, { merchant, id })).rows;
          if (known) return toKey(known);
          if (locked.state === "closed") requireActive(locked);
          const [counted] = (yield* run(COUNT_KEYS, { merchant })).rows;
          if (counted!.count >= MOST_KEYS) return undefined;
          yield* addKey(key, actor);
          return key;
        },
        { repeatable: true },
      ),
    async listKeys() {
      return (await read({ text: SELECT_KEYS })).map(toKey);
    },
    async listKeysOf(merchant) {
      const lists = await readAll([SELECT_ACTIVE, SELECT_REVOKED].map((text) => ({ text, values: { merchant } })));
      return lists.flat().map(toKey);
    },
    async recordKeyUses(uses) {
      const values = uses.map(({ merchantId, keyId, usedAt }) => ({
        merchant_id: merchantId,
        id: keyId,
        used_real: usedAt,
      }));
      const recordUses = () => runAll([{ text: RECORD_USES, rows: given("api_keys", values) }]);
      // No request waits for this write.
      await write(recordUses, { commit: "writeUnflushed", repeatable: true });
    },
    setKeyLimits: (id, limits, actor) =>
      changeKey(
        id,
        function* (merchantId) {
          yield* run(LIMIT_KEY, { merchant: merchantId, id, limits: toJson(limits) });
          yield* recordAction({ actor, action: "key.limit", merchantId, details: { key: id, ...limitTexts(limits) } });
        },
        {},
      ),
    revokeKey: (id, at, actor) =>
      changeKey(
        id,
        function* (merchantId) {
          if ((yield* run(REVOKE, { merchant: merchantId, id, at })).count === 0) return;
          yield* recordAction({ actor, action: "key.revoke", merchantId, details: { key: id } });
        },
        { repeatable: true },
      ),
    readSecrets: async (merchantId) => secretsIn(merchantId, await read(signingQuery(merchantId))),
    revealSecrets: (merchantId, actor) =>
      write(function* () {
        yield* recordAction({ actor, action: "secret.reveal", merchantId, details: {} });
        return yield* readSecrets(merchantId);
      }),
    rotateSecret: (merchant, secret, actor) =>
      write(function* () {
        const locked = yield* lockMerchant(merchant, "orders");
        const at = sandboxTime(locked, locked.now);
        const sealed = sealing.seal(merchant, secret);
        const { signForMs, most: kept } = REPLACED_SECRETS;
        const values = { merchant, secret: sealed, at, expires: at + signForMs, kept };
        yield* runAll(REPLACE_SECRET.map((text) => ({ text, values })));
        yield* recordAction({ actor, action: "secret.rotate", merchantId: merchant, details: {} });
        return yield* readSecrets(merchant);
      }),
  };
}
