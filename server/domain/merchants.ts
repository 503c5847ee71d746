import { hashKey } from "../http/authentication.ts";
import type { Clock } from "./clock.ts";
import { ConfigError } from "../config.ts";
import type { Ids, Random } from "./ids.ts";
import type { ApiKey, Merchant, Storage } from "./storage.ts";
import { newSecret } from "../webhooks/signature.ts";

interface Deps {
  storage: Storage;
  clock: Clock;
  ids: Ids;
  random: Random;
}

/** Makes a merchant with a webhook secret of its own; it has no key yet. */
export async function createMerchant({ storage, clock, ids, random }: Deps, name: string): Promise<Merchant> {
  const now = clock.now();
  const merchant: Merchant = { id: ids.record(now), name, createdAt: now, clockOffset: 0 };
  await storage.insertMerchant(merchant, newSecret(random));
  return merchant;
}

/** Makes a key and gives its text, which is nowhere kept and cannot be asked for again. */
export async function createKey(deps: Deps, merchantId: string, text = deps.ids.apiKey()): Promise<string> {
  const now = deps.clock.now();
  const key: ApiKey = {
    id: deps.ids.record(now),
    merchantId,
    hash: hashKey(text),
    hint: text.slice(-4),
    createdAt: now,
  };
  await deps.storage.insertKey(key);
  return text;
}

/** False when there is no such key. The next request with it is refused. */
export function revokeKey({ storage, clock }: Deps, keyId: string): Promise<boolean> {
  return storage.setRevoked(keyId, clock.now());
}

/**
 * Sees to a first merchant with a key, so that a fresh server can be called.
 * @param wanted the key it shall have (SANDBOX_API_KEY): made an active one at every start, other keys untouched
 * @returns the text of a key made now; absent when there was one already, or a wanted one
 * @throws ConfigError when the wanted key belongs to another merchant
 */
export async function prepareFirstMerchant(deps: Deps, wanted?: string): Promise<{ newKey?: string }> {
  const [existing] = await deps.storage.listMerchants();
  const merchant = existing ?? (await createMerchant(deps, "Sandbox Merchant"));
  if (wanted !== undefined) {
    await ensureKey(deps, merchant, wanted);
    return {};
  }
  // A start that broke off may have left a merchant without one.
  const hasKeys = (await deps.storage.listKeys()).some(({ merchantId }) => merchantId === merchant.id);
  return hasKeys ? {} : { newKey: await createKey(deps, merchant.id) };
}

async function ensureKey(deps: Deps, merchant: Merchant, text: string): Promise<void> {
  const known = await deps.storage.findKey(hashKey(text));
  if (!known) await createKey(deps, merchant.id, text);
  else if (known.merchantId !== merchant.id) {
    throw new ConfigError(["SANDBOX_API_KEY is a key of another merchant; choose another value"]);
  } else if (known.revokedAt !== undefined) await deps.storage.setRevoked(known.id, undefined);
}
