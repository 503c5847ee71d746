import { hash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../domain/errors.ts";
import type { Merchant, Storage } from "../domain/storage.ts";

/** Keys are kept as this hash alone; being random, they need no slow one. */
export function hashKey(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}

/**
 * The merchant whose key this is (§5). Asked anew for each request, so that a revoked key is refused at once.
 * @throws ApiError `unauthorized`, without a hint whether such a key ever existed
 */
export async function authenticate(storage: Storage, key: string | undefined): Promise<Merchant> {
  if (key === undefined || key === "") throw new ApiError("unauthorized", "Send your API key in the x-api-key header.");
  const digest = hashKey(key);
  const found = await storage.findMerchantByKey(digest);
  if (!found || !timingSafeEqual(digest, found.hash)) throw new ApiError("unauthorized", "This API key is not valid.");
  return found.merchant;
}
