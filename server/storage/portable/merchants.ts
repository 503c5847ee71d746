import { personOf, type Actor, type NewEntry } from "../../domain/audit.ts";
import { ServiceError } from "../../domain/errors.ts";
import { receiverOf } from "../../domain/events.ts";
import { MOST_KEYS, rotated, signingAt, type ApiKey, type WebhookSecrets } from "../../domain/keys.ts";
import { limitTexts, termTexts } from "../../domain/limits.ts";
import { suspension, type Merchant, type MerchantStore } from "../../domain/merchants.ts";
import { chaosDetails } from "../../domain/outcomes.ts";
import { sandboxTime } from "../../domain/time.ts";
import { columnsOf } from "../schema.ts";
import { bytesOf, toKey, toMerchant, toOwner } from "../rows.ts";
import type { Sealing } from "../sealing.ts";
import { entryId, recordAction, wasRecorded } from "./audit.ts";
import { lockMerchant, type Lock } from "./locked-merchant.ts";
import { given, run, runAll, type Executor, type Query, type Work, type WriteOptions } from "./query.ts";
import { endAccessTo, chainOf } from "./sign-in.ts";

const INSERT_MERCHANT = `INSERT INTO merchants (id, name, created_at, webhook_secrets, customer_secret)
  VALUES (:id, :name, :created, :webhook, :customers) ON CONFLICT (id) DO NOTHING`;
const HOUR_MS = 3_600_000;
/** Lets one process at a time count and insert. The number is arbitrary, and no other program uses it. */
const IN_TURN = { sqlite: "SELECT 1 WHERE false", postgres: "SELECT pg_advisory_xact_lock(730582)" };
const COUNT_NEW = `SELECT count(*) AS count, min(created_at) + ${HOUR_MS} - :now AS free_after FROM merchants
  WHERE created_at > :now - ${HOUR_MS}`;
const SELECT_CREATION = `SELECT actor FROM audit
  WHERE merchant_id = :merchant AND action = 'merchant.create' AND actor LIKE 'key %'`;
/** Every request looks its key up, so that a revocation or a move of the clock takes effect at once. */
const OWNER = `SELECT m.*, k.id AS key_id, k.scopes FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
  WHERE k.hash = given.hash AND k.revoked_at IS NULL LIMIT 1`;
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const SELECT_MERCHANTS = "SELECT * FROM merchants ORDER BY created_at, id";
const SET = (column: string) => `UPDATE merchants SET ${column} = :value WHERE id = :merchant`;

const SECRETS = "SELECT id, webhook_secrets, clock_offset, :now AS now FROM merchants";
const SECRETS_OF = `${SECRETS} WHERE id = :merchant`;
const REPLACE_SECRETS =
  "UPDATE merchants SET webhook_secrets = :sealed WHERE id = :merchant AND webhook_secrets = :stored";

const COUNT_KEYS = "SELECT count(*) AS count FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL";
const INSERT_KEY = `INSERT INTO api_keys (id, merchant_id, hash, hint, name, scopes, created_by, created_at, revoked_at)
  VALUES (:id, :merchant, :hash, :hint, :name, :scopes, :by, :created, :revoked)`;
const SELECT_KEYS = "SELECT * FROM api_keys ORDER BY created_at, id";
const SELECT_ACTIVE = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NULL
  ORDER BY created_at DESC, id DESC`;
const SELECT_REVOKED = `SELECT * FROM api_keys WHERE merchant_id = :merchant AND revoked_at IS NOT NULL
  ORDER BY revoked_at DESC, id DESC LIMIT ${MOST_KEYS}`;
const RECORD_USES = `UPDATE api_keys AS k SET used_real = :now FROM :rows
  WHERE k.merchant_id = given.merchant_id AND k.id = given.id`;
const SELECT_WITH_ID = "SELECT * FROM api_keys WHERE merchant_id = :merchant AND id = :id";
const SELECT_OWNER = "SELECT merchant_id FROM api_keys WHERE id = :id";
const LIMIT_KEY = "UPDATE api_keys SET limits = :limits WHERE merchant_id = :merchant AND id = :id";
const REVOKE_ALL = "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND revoked_at IS NULL";
const REVOKE = "UPDATE api_keys SET revoked_at = :at WHERE merchant_id = :merchant AND id = :id AND revoked_at IS NULL";

const STATE_ACTIONS = { suspended: "merchant.suspend", closed: "merchant.close", active: "merchant.reopen" } as const;

function* addKey(key: ApiKey, actor: Actor): Work<void> {
  const { id, merchantId, hash, hint, name, createdAt: created, revokedAt: revoked } = key;
  const by = yield* chainOf(actor, merchantId);
  const scopes = key.scopes?.join();
  yield* run(INSERT_KEY, { id, merchant: merchantId, hash: bytesOf(hash), hint, name, scopes, by, created, revoked });
  const details = { key: id, ...(name !== undefined && { name }), ...(scopes !== undefined && { scopes }) };
  yield* recordAction({ actor, action: "key.create", merchantId, details });
}

/** @throws ServiceError `rate_limited` if the last hour has brought so many merchants */
function* requireTurn(mostPerHour: number): Work<void> {
  yield* run(IN_TURN);
  const [last] = (yield* run(COUNT_NEW)).rows;
  if (last!.count < mostPerHour) return;
  const retryAfterSeconds = Math.ceil(last!.free_after / 1_000);
  const message =
    `This sandbox creates at most ${mostPerHour} merchants an hour. Retry after the number of seconds in the Retry-After ` +
    "header, or reset and use a merchant again: POST /sandbox/reset.";
  throw new ServiceError("rate_limited", message, { retryAfterSeconds });
}

const TOO_MANY_KEYS =
  `The merchant has ${MOST_KEYS} API keys, which is the most. Revoke a key that is not used, ` +
  "then create the new key.";

const toJson = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

export function merchants(executor: Executor): Omit<MerchantStore, "exclusively" | "takeRequest"> {
  const { read, write, sealing } = executor;
  const findOwner = executor.finder(OWNER, columnsOf("api_keys", ["hash"]));

  /** Returns an operation that changes a column of a merchant. @param entryOf what the audit trail says */
  const changing =
    <T>(column: string, lock: Lock, entryOf: (value: T, before: Merchant) => Pick<NewEntry, "action" | "details">) =>
    (merchantId: string, value: T, actor: Actor) =>
      write(function* () {
        const before = yield* lockMerchant(merchantId, lock);
        const stored = typeof value === "string" ? value : toJson(value);
        yield* run(SET(column), { merchant: merchantId, value: stored });
        yield* recordAction({ actor, merchantId, ...entryOf(value, before) });
      });

  /** Changes a key, if it exists. */
  const changeKey = (
    key: string,
    change: string,
    values: Query["values"],
    { details, ...entry }: Omit<NewEntry, "merchantId">,
    options?: WriteOptions,
  ) =>
    write(function* () {
      const [owner] = (yield* run(SELECT_OWNER, { id: key })).rows;
      if (!owner) return;
      // `alone`, because creates of other processes judge the key while they share the merchant.
      const { id: merchantId } = yield* lockMerchant(owner.merchant_id, "alone");
      const { count } = yield* run(change, { ...values, merchant: merchantId, id: key });
      if (count > 0) yield* recordAction({ ...entry, merchantId, details: { key, ...details } });
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
    insertMerchant: ({ id, name, createdAt }, { webhook, customers }, actor, firstKey, mostPerHour) =>
      write(function* () {
        if (mostPerHour !== undefined) yield* requireTurn(mostPerHour);
        const values = {
          id,
          name,
          created: createdAt,
          customers,
          webhook: sealing.seal(id, { current: webhook, previous: [] }),
        };
        if ((yield* run(INSERT_MERCHANT, values)).count === 0) return;
        yield* recordAction({ actor, action: "merchant.create", merchantId: id, details: { name } });
        if (firstKey) yield* addKey(firstKey, actor);
      }),
    async findCreatorOf(merchant) {
      const [created] = await read({ text: SELECT_CREATION, values: { merchant } });
      if (!created) return undefined;
      const [key] = await read({ text: SELECT_OWNER, values: { id: personOf(created.actor) } });
      return key?.merchant_id;
    },
    renameMerchant: changing("name", "orders", (to, { name: from }) => ({
      action: "merchant.rename",
      details: { from, to },
    })),
    setMerchantState(merchantId, state, actor) {
      const entry = entryId();
      return write(
        function* () {
          // `alone`, because creates of other processes judge the state while they share the merchant.
          const locked = yield* lockMerchant(merchantId, "alone");
          if (locked.state === state || (yield* wasRecorded(merchantId, entry))) return true;
          if (locked.state === "closed") return false;
          yield* run(SET("merchant_state"), { merchant: merchantId, value: state });
          const details: Record<string, string> = {};
          if (state === "closed") {
            const revoked = yield* run(REVOKE_ALL, { merchant: merchantId, at: locked.now });
            details.keys = String(revoked.count);
            details.sessions = String(yield* endAccessTo(merchantId));
          }
          yield* recordAction({ actor, action: STATE_ACTIONS[state ?? "active"], merchantId, details }, entry);
          return true;
        },
        { idempotent: true },
      );
    },
    setMerchantLimits: changing("limits", "alone", (limits) => ({
      action: "merchant.limit",
      details: limitTexts(limits),
    })),
    setMerchantTerms: changing("terms", "orders", (terms) => ({ action: "merchant.terms", details: termTexts(terms) })),
    setChaos: changing("chaos", "orders", (chaos) => ({ action: "sandbox.chaos", details: chaosDetails(chaos) })),
    // The path and query of a URL may contain a secret.
    setDefaultWebhook: changing("webhook_url", "orders", (url) => ({
      action: url === undefined ? "default-webhook.remove" : "default-webhook.set",
      details: { ...(url !== undefined && { receiver: receiverOf(url) }) },
    })),
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
          if (known) return toKey(known).hash === key.hash;
          if (locked.state === "closed") throw suspension(locked)!;
          const [counted] = (yield* run(COUNT_KEYS, { merchant })).rows;
          if (counted!.count >= MOST_KEYS) throw new ServiceError("invalid_value", TOO_MANY_KEYS);
          yield* addKey(key, actor);
          return true;
        },
        { idempotent: true },
      ),
    async listKeys() {
      return (await read({ text: SELECT_KEYS })).map(toKey);
    },
    async listKeysOf(merchant) {
      const lists = await Promise.all(
        [SELECT_ACTIVE, SELECT_REVOKED].map((text) => read({ text, values: { merchant } })),
      );
      return lists.flat().map(toKey);
    },
    async recordKeyUses(keys) {
      const rows = given(
        "api_keys",
        keys.map(({ merchantId, id }) => ({ merchant_id: merchantId, id })),
      );
      // No request waits for this write. If it is repeated after a lost response, the use is only dated a little later.
      await write(() => runAll([{ text: RECORD_USES, rows }]), { commit: "writeUnflushed", idempotent: true });
    },
    setKeyLimits: (id, limits, actor) =>
      changeKey(id, LIMIT_KEY, { limits: toJson(limits) }, { actor, action: "key.limit", details: limitTexts(limits) }),
    revokeKey: (id, at, actor) =>
      changeKey(id, REVOKE, { at }, { actor, action: "key.revoke", details: {} }, { idempotent: true }),
    async readSecrets(merchant) {
      const [row] = await read({ text: SECRETS_OF, values: { merchant } });
      return signingAt(row!.clock_offset + row!.now, sealing.unseal(merchant, row!.webhook_secrets));
    },
    rotateSecret: (merchant, secret, actor) =>
      write(function* () {
        const locked = yield* lockMerchant(merchant, "orders");
        const at = sandboxTime(locked, locked.now);
        yield* recordAction({ actor, action: "secret.rotate", merchantId: merchant, details: {} });
        return yield* changeSecrets(merchant, sealing, (secrets) => rotated(at, secrets, secret));
      }),
  };
}

/** Changes the secrets of a locked merchant. */
export function* changeSecrets(
  merchant: string,
  { seal, unseal }: Sealing,
  change: (secrets: WebhookSecrets) => WebhookSecrets,
): Work<WebhookSecrets> {
  const [row] = (yield* run(SECRETS_OF, { merchant })).rows;
  const stored = row!.webhook_secrets;
  const secrets = change(unseal(merchant, stored));
  yield* run(REPLACE_SECRETS, { merchant, stored, sealed: seal(merchant, secrets) });
  return secrets;
}

/**
 * Reads all stored secrets, so that a missing key is noticed at the start. Stores secrets again if they are not encrypted
 * as the keys demand.
 * @param options.replace false to read them only
 * @throws StorageError if secrets need a key that is missing; nothing was changed then
 */
export function* sealStoredSecrets(
  { seal, unseal, isCurrent }: Sealing,
  { replace }: { replace: boolean },
): Work<void> {
  const changes = (yield* run(SECRETS)).rows.flatMap(({ id: merchant, webhook_secrets: stored }): Query[] => {
    const secrets = unseal(merchant, stored);
    return isCurrent(stored)
      ? []
      : [{ text: REPLACE_SECRETS, values: { merchant, stored, sealed: seal(merchant, secrets) } }];
  });
  if (replace && changes.length > 0) yield changes;
}
