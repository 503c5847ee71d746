import { chaosDetails } from "../../domain/outcomes.ts";
import { receiverOf } from "../../domain/events.ts";
import type { Actor } from "../../domain/audit.ts";
import { MOST_KEYS, type ApiKey } from "../../domain/keys.ts";
import { requireActive, type MerchantStore } from "../../domain/merchants.ts";
import { sandboxTime } from "../../domain/time.ts";
import { termTexts, limitTexts } from "../../domain/limits.ts";
import { columnsOf } from "../columns.ts";
import { bytesOf, keyCreated, toKey, toMerchant, toOwner } from "../rows.ts";
import { entryId, recordAction, wasRecorded } from "./audit.ts";
import { lockMerchant, required } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Work } from "./query.ts";
import { endSessionsOf, eyesOf } from "./sign-in.ts";
import { readSecrets, secretsQuery, toSecrets } from "./secrets.ts";

const INSERT_MERCHANT = `INSERT INTO merchants (id, name, created_at, webhook_secret, customer_secret)
  VALUES (:id, :name, :created, :webhook, :customers) ON CONFLICT (id) DO NOTHING`;
/** Every request looks its key up, so that a revocation or a move of the clock takes effect at once. */
const OWNER = `SELECT m.*, k.id AS key_id, k.scopes FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
  WHERE k.hash = given.hash AND k.revoked_at IS NULL LIMIT 1`;
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const SELECT_MERCHANTS = "SELECT * FROM merchants ORDER BY created_at, id";
const RENAME = "UPDATE merchants SET name = :name WHERE id = :merchant";
const SET_STATE = "UPDATE merchants SET merchant_state = :state WHERE id = :merchant";
const LIMIT_MERCHANT = "UPDATE merchants SET limits = :limits WHERE id = :merchant";
const SET_TERMS = "UPDATE merchants SET terms = :terms WHERE id = :merchant";
const LIMIT_KEY = "UPDATE api_keys SET limits = :limits WHERE merchant_id = :merchant AND id = :id";
const REVOKE_ALL =
  "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND revoked_at IS NULL RETURNING id";
const SET_WEBHOOK_URL = "UPDATE merchants SET webhook_url = :url WHERE id = :merchant";
const SET_CHAOS = "UPDATE merchants SET chaos = :chaos WHERE id = :merchant";

const COUNT_KEYS = "SELECT count(*) AS count FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL";
const INSERT_KEY = `INSERT INTO api_keys (id, merchant_id, hash, hint, name, scopes, created_by, created_at, revoked_at)
  VALUES (:id, :merchant, :hash, :hint, :name, :scopes, :by, :created, :revoked)`;
const SELECT_KEYS = "SELECT * FROM api_keys ORDER BY created_at, id";
const SELECT_ACTIVE = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL
  ORDER BY created_at DESC, id DESC`;
const SELECT_REVOKED = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NOT NULL
  ORDER BY revoked_at DESC, id DESC LIMIT ${MOST_KEYS}`;
const SELECT_KEY = "SELECT * FROM api_keys WHERE hash = :hash";
const RECORD_USES = `UPDATE api_keys AS k SET used_real = greatest(coalesce(k.used_real, 0), given.used_real)
  FROM :rows WHERE k.merchant_id = given.merchant_id AND k.id = given.id`;
const SELECT_WITH_ID = "SELECT * FROM api_keys WHERE merchant_id = :merchant AND id = :id";
const SELECT_OWNER = "SELECT merchant_id FROM api_keys WHERE id = :id";
const LOCK_KEY = "SELECT revoked_at FROM api_keys WHERE merchant_id = :merchant AND id = :id FOR UPDATE";
const REVOKE = "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND id = :id";

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
  const { id, merchantId: merchant, hash, hint, name = null, createdAt: created, revokedAt: revoked = null } = key;
  const by = yield* eyesOf(actor, merchant);
  const scopes = key.scopes?.join() ?? null;
  yield* run(INSERT_KEY, { id, merchant, hash: bytesOf(hash), hint, name, scopes, by, created, revoked });
  yield* recordAction(keyCreated(key, actor));
}

export function merchants({
  read,
  readAll,
  write,
  finder,
  sealing,
}: Executor): Omit<MerchantStore, "exclusively" | "takeRequest"> {
  const findOwner = finder(OWNER, columnsOf("api_keys", ["hash"]));
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
        yield* run(RENAME, { merchant: merchantId, name });
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
          yield* run(SET_STATE, { merchant: merchantId, state: state ?? null });
          const details = state === "closed" ? yield* endAccess(merchantId, locked.now) : {};
          yield* recordAction({ actor, action: STATE_ACTIONS[state ?? "active"], merchantId, details }, entry);
          return true;
        },
        { repeatable: true },
      );
    },
    setMerchantLimits: (merchantId, limits, actor) =>
      write(function* () {
        yield* lockMerchant(merchantId, "alone");
        yield* run(LIMIT_MERCHANT, { merchant: merchantId, limits: limits ? JSON.stringify(limits) : null });
        yield* recordAction({ actor, action: "merchant.limit", merchantId, details: limitTexts(limits) });
      }),
    setMerchantTerms: (merchantId, terms, actor) =>
      write(function* () {
        yield* lockMerchant(merchantId, "orders");
        yield* run(SET_TERMS, { merchant: merchantId, terms: terms ? JSON.stringify(terms) : null });
        yield* recordAction({ actor, action: "merchant.terms", merchantId, details: termTexts(terms) });
      }),
    setKeyLimits: (id, limits, actor) =>
      write(function* () {
        const [owner] = (yield* run(SELECT_OWNER, { id })).rows;
        if (!owner) return false;
        const merchantId = owner.merchant_id as string;
        yield* lockMerchant(merchantId, "alone");
        yield* run(LIMIT_KEY, { merchant: merchantId, id, limits: limits ? JSON.stringify(limits) : null });
        yield* recordAction({ actor, action: "key.limit", merchantId, details: { key: id, ...limitTexts(limits) } });
        return true;
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
          if ((counted!.count as number) >= MOST_KEYS) return undefined;
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
      const columns = { merchant_id: "text", id: "text", used_real: "bigint" };
      const values = uses.map(({ merchantId, keyId, usedAt }) => ({
        merchant_id: merchantId,
        id: keyId,
        used_real: usedAt,
      }));
      const recordUses = () => runAll([{ text: RECORD_USES, rows: { columns, values } }]);
      // No request waits for this write.
      await write(recordUses, { commit: "writeUnflushed", repeatable: true });
    },
    async findKey(hash) {
      const [row] = await read({ text: SELECT_KEY, values: { hash: bytesOf(hash) } });
      return row && toKey(row);
    },
    revokeKey: (id, at, actor) =>
      write(
        function* () {
          const [owner] = (yield* run(SELECT_OWNER, { id })).rows;
          if (!owner) return false;
          const merchant = owner.merchant_id as string;
          // `alone`, because creates of other processes judge the key while they share the merchant.
          yield* lockMerchant(merchant, "alone");
          const [key] = (yield* run(LOCK_KEY, { merchant, id })).rows;
          if (key?.revoked_at !== null) return key !== undefined;
          yield* run(REVOKE, { merchant, id, at });
          yield* recordAction({ actor, action: "key.revoke", merchantId: merchant, details: { key: id } });
          return true;
        },
        { repeatable: true },
      ),
    async readSecrets(merchantId) {
      return required(toSecrets(await read(secretsQuery([merchantId])), sealing), merchantId);
    },
    revealSecrets: (merchantId, actor) =>
      write(function* () {
        yield* recordAction({ actor, action: "secret.reveal", merchantId, details: {} });
        return required(yield* readSecrets([merchantId], sealing), merchantId);
      }),
    rotateSecret: (merchant, secret, { keepMs, maxPrevious: kept, actor }) =>
      write(function* () {
        const locked = yield* lockMerchant(merchant, "orders");
        const at = sandboxTime(locked, locked.now);
        const sealed = sealing.seal(merchant, secret);
        const values = { merchant, secret: sealed, at, expires: at + keepMs, kept };
        yield* runAll(REPLACE_SECRET.map((text) => ({ text, values })));
        yield* recordAction({ actor, action: "secret.rotate", merchantId: merchant, details: {} });
        return required(yield* readSecrets([merchant], sealing), merchant);
      }),
    setDefaultWebhook: (merchantId, url, actor) =>
      write(function* () {
        yield* run(SET_WEBHOOK_URL, { merchant: merchantId, url: url ?? null });
        // The path and query of a URL may contain a secret.
        const action = url === undefined ? "default-webhook.remove" : "default-webhook.set";
        const details: Record<string, string> = url === undefined ? {} : { receiver: receiverOf(url) };
        yield* recordAction({ actor, action, merchantId, details });
      }),
    setChaos: (merchantId, chaos, actor) =>
      write(function* () {
        yield* run(SET_CHAOS, { merchant: merchantId, chaos: chaos ? JSON.stringify(chaos) : null });
        yield* recordAction({ actor, action: "sandbox.chaos", merchantId, details: chaosDetails(chaos) });
      }),
  };
}
