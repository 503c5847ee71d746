import type { operations } from "../../generated/openapi.ts";
import { ServiceError } from "../domain/errors.ts";
import { hashKey, modeProblemOf, type Scope, type Mode } from "../domain/keys.ts";
import { beingReset, type KeyOwner, type MerchantStore } from "../domain/merchants.ts";

/**
 * Finds the owner of a key (§5). The storage may cache keys; a key that another process revoked is refused
 * within a tenth of a second.
 * @throws ServiceError `unauthorized`, also for a key of the other mode; the message does not reveal whether the key ever
 * existed; `unavailable` while the merchant's sandbox is being reset
 */
export async function authenticate(
  storage: Pick<MerchantStore, "findMerchantByKey">,
  key: string | undefined,
  mode: Mode,
): Promise<KeyOwner> {
  if (!key) throw new ServiceError("unauthorized", "Send your API key in the x-api-key header.");
  const modeProblem = modeProblemOf(key, mode);
  if (modeProblem !== undefined) throw new ServiceError("unauthorized", `This API key ${modeProblem}.`);
  const found = await storage.findMerchantByKey(hashKey(key));
  if (!found) throw new ServiceError("unauthorized", "This API key is not valid.");
  if (found.merchant.isResetting) throw beingReset();
  return found;
}

/** The operations that this server implements. Operations named `on…` are webhooks, which the server sends. */
export type OperationId = Exclude<keyof operations, `on${string}`>;

/**
 * The scopes that permit an operation: a key needs one of these. All other operations, which are the sandbox's, need a
 * key without scopes (D88).
 */
const PERMITTED_BY: Readonly<Partial<Record<string, readonly Scope[]>>> = {
  createDisbursement: ["disburse"],
  verifyDisbursement: ["read", "disburse"],
  listDisbursements: ["read"],
  createCheckout: ["checkout"],
  verifyCheckout: ["read", "checkout"],
  listCheckouts: ["read"],
  listBalances: ["read"],
  listStatements: ["read"],
} satisfies Partial<Record<OperationId, readonly Scope[]>>;

/**
 * Returns why a key with these scopes may not make this create, if it may read what a create has recorded: the refusal is
 * left to the handler, because a known reference comes first (D1).
 * @throws ServiceError `key_not_permitted` if the scopes do not permit the operation otherwise
 */
export function refusalOf(operation: OperationId, scopes: readonly Scope[] | undefined): ServiceError | undefined {
  const permits = (which: string) => scopes?.some((scope) => PERMITTED_BY[which]?.includes(scope));
  if (!scopes || permits(operation)) return undefined;
  const permittedBy = PERMITTED_BY[operation]?.join(" or ");
  const needed = permittedBy === undefined ? "an API key without scopes" : `the scope ${permittedBy}`;
  const message = `This operation needs ${needed}, and this API key has only ${scopes.join(" and ")}.`;
  const refusal = new ServiceError("key_not_permitted", message);
  // The operation that reads what a create has recorded.
  if (operation.startsWith("create") && permits(operation.replace("create", "verify"))) return refusal;
  throw refusal;
}
