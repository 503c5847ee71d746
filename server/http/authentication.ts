import { ServiceError } from "../domain/errors.ts";
import { hashKey, otherModeOf, type SecretHash } from "../domain/keys.ts";
import type { KeyOwner, MerchantStore } from "../domain/merchants.ts";
import type { Mode } from "../domain/mode.ts";

/**
 * Finds the owner of a key (§5). The storage may cache keys; a key that another process revoked is refused
 * within a tenth of a second.
 * @param hash of the key
 * @throws ServiceError `unauthorized`, also for a key of the other mode; the message does not reveal whether the key ever
 * existed
 */
export async function authenticate(
  storage: Pick<MerchantStore, "findMerchantByKey">,
  key: string | undefined,
  mode: Mode,
  hash: SecretHash = hashKey(key ?? ""),
): Promise<KeyOwner> {
  if (key === undefined || key === "") {
    throw new ServiceError("unauthorized", "Send your API key in the x-api-key header.");
  }
  const otherMode = otherModeOf(key, mode);
  if (otherMode !== undefined) throw new ServiceError("unauthorized", `This API key ${otherMode}.`);
  const found = await storage.findMerchantByKey(hash);
  if (!found) {
    throw new ServiceError("unauthorized", "This API key is not valid.");
  }
  return found;
}
