import { hash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../domain/errors.ts";
import type { Merchant, Storage } from "../domain/storage.ts";

/** The stored form of an API key. Keys are random, so a fast hash is safe. */
export function hashKey(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}

/**
 * Returns the merchant that owns an API key (§5). The storage may answer from a cache: a key that another process
 * revokes is refused within 100 ms.
 * @throws ApiError `unauthorized`, which does not reveal whether the key ever existed
 */
export async function authenticate(storage: Storage, key: string | undefined): Promise<Merchant> {
  if (key === undefined || key === "") throw new ApiError("unauthorized", "Send your API key in the x-api-key header.");
  const digest = hashKey(key);
  const found = await storage.findMerchantByKey(digest);
  if (!found || !timingSafeEqual(digest, found.hash)) throw new ApiError("unauthorized", "This API key is not valid.");
  return found.merchant;
}
