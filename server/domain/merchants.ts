import type { Actor } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import type { Ids, Random } from "./ids.ts";
import { hashKey } from "./keys.ts";
import { checkedName } from "./names.ts";
import { newSecret } from "./secrets.ts";
import { MOST_KEYS, type MerchantStore } from "./storage.ts";
import type { ApiKey, Merchant } from "./types.ts";

export interface MerchantContext {
  storage: MerchantStore;
  clock: Clock;
  ids: Ids;
  random: Random;
  /** Who creates or revokes, for the audit trail. */
  actor: Actor;
}

/** The name of the key that a merchant gets with its creation. */
export const FIRST_KEY = "First key";

/**
 * Creates a merchant with its own webhook secret. It has no key yet.
 * @throws ServiceError `invalid_value` if the name is empty, too long or has invisible characters
 */
export async function createMerchant(context: MerchantContext, name: string): Promise<Merchant> {
  const { storage, clock, ids, random, actor } = context;
  const createdAt = clock.now();
  const merchant = { id: ids.record(createdAt), name: checkedName(name), createdAt };
  await storage.insertMerchant(merchant, newSecret(random), actor);
  return { ...merchant, clockOffset: 0, movedTo: 0 };
}

interface KeyChoices {
  /** What people call the key. */
  name?: string;
  /** The key itself; by default a new random one. */
  text?: string;
}

/**
 * Creates a key and returns its text, which is stored nowhere and cannot be read again.
 * @throws ServiceError `invalid_value` if the name is invalid or the merchant has too many keys
 */
export async function createKey(
  { storage, clock, ids, actor }: MerchantContext,
  merchantId: string,
  { name, text = ids.apiKey() }: KeyChoices = {},
): Promise<string> {
  const createdAt = clock.now();
  const key: ApiKey = {
    id: ids.record(createdAt),
    merchantId,
    hash: hashKey(text),
    hint: text.slice(-4),
    ...(name !== undefined && { name: checkedName(name) }),
    createdAt,
  };
  if (await storage.insertKey(key, actor)) return text;
  throw new ServiceError(
    "invalid_value",
    `The merchant has ${MOST_KEYS} API keys, which is the most. Revoke one that is not used, then create the new one.`,
  );
}

/**
 * Revokes a key. A server in another process refuses it within a tenth of a second. Resolves with false if there is no
 * such key.
 */
export function revokeKey({ storage, clock, actor }: MerchantContext, keyId: string): Promise<boolean> {
  return storage.revokeKey(keyId, clock.now(), actor);
}

/** Thrown if the value of SANDBOX_API_KEY is a key of another merchant. */
export class KeyTakenError extends Error {
  override name = "KeyTakenError";
}

export interface FirstMerchant {
  /** The text of a newly created key; absent if the merchant had a key or `wanted` was given. */
  newKey?: string;
  /** The id of the wanted key, if it has been revoked. It stays revoked. */
  revokedKeyId?: string;
}

/**
 * Ensures that there is a merchant with a key, so that a new server can be used immediately.
 * @param wanted a key that the merchant must have (SANDBOX_API_KEY); other keys stay unchanged
 * @throws KeyTakenError if the wanted key belongs to another merchant
 */
export async function prepareFirstMerchant(context: MerchantContext, wanted?: string): Promise<FirstMerchant> {
  const { storage } = context;
  const [existing] = await storage.listMerchants();
  const merchant = existing ?? (await createMerchant(context, "Sandbox Merchant"));
  if (wanted !== undefined) return ensureKey(context, merchant, wanted);
  // An interrupted start may have left a merchant without a key.
  const keys = await storage.listKeysOf(merchant.id);
  return keys.length > 0 ? {} : { newKey: await createKey(context, merchant.id, { name: FIRST_KEY }) };
}

async function ensureKey(context: MerchantContext, merchant: Merchant, text: string): Promise<FirstMerchant> {
  const known = await context.storage.findKey(hashKey(text));
  if (known && known.merchantId !== merchant.id) {
    throw new KeyTakenError("SANDBOX_API_KEY is a key of another merchant");
  }
  if (!known) await createKey(context, merchant.id, { name: "SANDBOX_API_KEY", text });
  return known?.revokedAt === undefined ? {} : { revokedKeyId: known.id };
}
