import { checkedName, type Actor } from "./audit.ts";
import type { Chaos } from "./outcomes.ts";
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import type { Ids, Random } from "./ids.ts";
import { hashKey, newSecret, type ApiKey, type SecretHash, type WebhookSecrets } from "./keys.ts";
import type { Limits, Terms } from "./limits.ts";

export interface Merchant {
  id: string;
  name: string;
  /** Real time. */
  createdAt: number;
  /** How far the merchant's sandbox time is ahead of real time, in milliseconds. */
  clockOffset: number;
  /** Present while a reset deletes the merchant's payments, which cannot be read meanwhile. */
  isResetting?: true;
  /** The destination of events whose request gave none (D40). */
  webhookUrl?: string;
  /** Absent for a merchant that can create payments (D88). */
  state?: "suspended" | "closed";
  limits?: Limits;
  /** What the chaos switch of the sandbox does; absent while it is off (D17). */
  chaos?: Chaos;
  terms?: Terms;
}

/** A method with an `actor` records the action in the audit trail, in the same transaction (D41). */
export interface MerchantStore {
  /** Runs `work` while no other process is in this method, so that two first starts create one merchant. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Stores a merchant, unless one with this id is stored. The ids of its customers are derived with a secret.
   * @param mostPerHour how many merchants all processes may store in an hour of real time; by default any number
   * @throws ServiceError `rate_limited` if so many were stored; nothing was stored then
   */
  insertMerchant(
    merchant: Pick<Merchant, "id" | "name" | "createdAt">,
    secrets: Record<"webhook" | "customers", string>,
    actor: Actor,
    firstKey?: ApiKey,
    mostPerHour?: number,
  ): Promise<void>;
  /** The id of the merchant whose key created this merchant. Undefined if a person did, or if there is no such merchant. */
  findCreatorOf(merchantId: string): Promise<string | undefined>;
  renameMerchant(id: string, name: string, actor: Actor): Promise<void>;
  /**
   * Suspends or closes a merchant; with undefined, reopens it. Closing also revokes its keys, and ends the sessions and
   * unused links of its people. Resolves with false, and changes nothing, if the merchant is closed and `state` is
   * another state.
   */
  setMerchantState(id: string, state: Merchant["state"], actor: Actor): Promise<boolean>;
  setMerchantLimits(id: string, limits: Limits | undefined, actor: Actor): Promise<void>;
  setMerchantTerms(id: string, terms: Terms | undefined, actor: Actor): Promise<void>;
  setKeyLimits(keyId: string, limits: Limits | undefined, actor: Actor): Promise<void>;
  /** Oldest first. */
  listMerchants(): Promise<Merchant[]>;
  /**
   * Stores a key. Resolves with false, and stores nothing, if another key has this id.
   * @throws ServiceError `invalid_value` if the merchant has `MOST_KEYS` keys that are not revoked; `merchant_suspended` if
   *   the merchant is closed
   */
  insertKey(key: ApiKey, actor: Actor): Promise<boolean>;
  /** Lists the keys of all merchants, oldest first. */
  listKeys(): Promise<ApiKey[]>;
  /**
   * Lists a merchant's keys: first the keys that are not revoked, newest first, then the `MOST_KEYS` keys that were
   * revoked last.
   */
  listKeysOf(merchantId: string): Promise<ApiKey[]>;
  /** Records that keys were used now. A power failure may undo this. */
  recordKeyUses(keys: readonly Pick<ApiKey, "merchantId" | "id">[]): Promise<void>;
  /**
   * Revokes a key for good; a server in another process refuses it within a tenth of a second. A revoked key keeps its
   * time of revocation.
   */
  revokeKey(keyId: string, revokedAt: number, actor: Actor): Promise<void>;
  /** The owner of the key with this hash. Undefined if the key is unknown or revoked. */
  findMerchantByKey(hash: SecretHash): Promise<KeyOwner | undefined>;
  findMerchant(id: string): Promise<Merchant | undefined>;
  /**
   * Takes a request from a merchant's bucket, which all processes share: the bucket holds `perSecond` requests and
   * fills up at this rate in real time. Resolves with false, and takes nothing, if the bucket is empty. The bucket's
   * state may be lost when a process ends.
   */
  takeRequest(merchantId: string, perSecond: number): Promise<boolean>;
  /** Reads the secrets that sign now. */
  readSecrets(merchantId: string): Promise<WebhookSecrets>;
  /** Makes `secret` the current secret (`rotated`). */
  rotateSecret(merchantId: string, secret: string, actor: Actor): Promise<WebhookSecrets>;
  /** Sets or removes the address for events whose request gave none (D40). Events that exist keep their destination. */
  setDefaultWebhook(merchantId: string, url: string | undefined, actor: Actor): Promise<void>;
  setChaos(merchantId: string, chaos: Chaos | undefined, actor: Actor): Promise<void>;
}

export interface KeyOwner extends Pick<ApiKey, "scopes"> {
  merchant: Merchant;
  keyId: string;
}

export interface MerchantContext {
  storage: MerchantStore;
  clock: Clock;
  ids: Ids;
  random: Random;
  /** Who creates or revokes, for the audit trail. */
  actor: Actor;
}

/**
 * Creates a merchant with its own webhook secret.
 * @param firstKey a key that the merchant gets in the same transaction; by default it has no key
 * @param mostPerHour see `insertMerchant`
 * @throws ServiceError `invalid_value` if the name is empty, too long or has invisible characters; `rate_limited`
 */
export async function createMerchant(
  context: MerchantContext,
  name: string,
  firstKey?: KeyChoices,
  mostPerHour?: number,
): Promise<Merchant> {
  const { storage, clock, ids, random, actor } = context;
  const merchant = { id: ids.merchant(), name: checkedName(name), createdAt: clock.now() };
  const secrets = { webhook: newSecret(random), customers: Buffer.from(random(32)).toString("hex") };
  const key = firstKey && newKey(context, merchant.id, firstKey);
  await storage.insertMerchant(merchant, secrets, actor, key, mostPerHour);
  return { ...merchant, clockOffset: 0 };
}

/** How many merchants a sandbox creates in an hour for its merchants' tests. */
const MOST_PER_HOUR = 1_000;

/**
 * Creates a merchant for the tests of another (D112). Its key is stored nowhere and cannot be read again.
 * @throws ServiceError `invalid_value` for an invalid name; `merchant_suspended` if the creator is; `rate_limited`
 */
export async function createTestMerchant(context: MerchantContext, creator: Merchant, name = "Test merchant") {
  const refusal = suspension(creator);
  if (refusal) throw refusal;
  const apiKey = context.ids.apiKey();
  const merchant = await createMerchant(context, name, { text: apiKey }, MOST_PER_HOUR);
  const { current: webhookSecret } = await context.storage.readSecrets(merchant.id);
  return { id: merchant.id, name: merchant.name, apiKey, webhookSecret };
}

/** Refuses requests that would see what a reset has not deleted yet. */
export const beingReset = (): ServiceError =>
  new ServiceError("unavailable", "The sandbox is being reset.", { retryAfterSeconds: 1 });

/** The refusal of a merchant's new payments; undefined if the merchant can create payments. */
export const suspension = ({ state }: Pick<Merchant, "state">): ServiceError | undefined =>
  state && new ServiceError("merchant_suspended", `The operator of the service has ${state} this merchant.`);

/** The key may do everything, unless scopes are chosen. */
interface KeyChoices extends Partial<Pick<ApiKey, "id" | "name" | "scopes">> {
  text: string;
}

function newKey({ clock, ids }: MerchantContext, merchantId: string, { name, text, ...more }: KeyChoices): ApiKey {
  const createdAt = clock.now();
  const named = name !== undefined && { name: checkedName(name) };
  return {
    id: ids.record(createdAt),
    ...more,
    ...named,
    merchantId,
    hash: hashKey(text),
    hint: text.slice(-4),
    createdAt,
  };
}

/**
 * Creates a key and returns its text, which is stored nowhere and cannot be read again. Resolves with undefined if a key
 * with this id was created earlier, such as for a form that is sent again.
 * @throws ServiceError `invalid_value` if the name is invalid or the merchant has too many keys
 */
export async function createKey(
  context: MerchantContext,
  merchantId: string,
  choices: Partial<KeyChoices> = {},
): Promise<string | undefined> {
  const { text = context.ids.apiKey(), ...more } = choices;
  const isNew = await context.storage.insertKey(newKey(context, merchantId, { text, ...more }), context.actor);
  return isNew ? text : undefined;
}

/**
 * Ensures that there is a merchant with a key, so that a new server can be used immediately.
 * @param name what a new merchant is called; its webhooks show this name
 * @param wanted a key that the merchant must have (SANDBOX_API_KEY); other keys stay unchanged
 * @returns the text of a newly created key; the id of the wanted key, if it has been revoked: it stays revoked
 * @throws ServiceError `invalid_value` if the wanted key belongs to another merchant
 */
export async function prepareFirstMerchant(
  context: MerchantContext,
  name: string,
  wanted?: string,
): Promise<{ newKey?: string; revokedKeyId?: string }> {
  const { storage, ids } = context;
  const merchants = await storage.listMerchants();
  const open = merchants.find(({ state }) => state !== "closed");
  if (wanted === undefined) {
    // A person who has closed all merchants does not expect a new key.
    if (merchants.length > 0) return {};
    const text = ids.apiKey();
    await createMerchant(context, name, { name: "First key", text });
    return { newKey: text };
  }
  const key = { name: "SANDBOX_API_KEY", text: wanted };
  const known = (await storage.listKeys()).find(({ hash }) => hash === hashKey(wanted));
  if (known?.revokedAt !== undefined) return { revokedKeyId: known.id };
  if (known && open && known.merchantId !== open.id)
    throw new ServiceError("invalid_value", "SANDBOX_API_KEY is a key of another merchant; choose another value");
  if (!open) await createMerchant(context, name, key);
  else if (!known) await createKey(context, open.id, key);
  return {};
}
