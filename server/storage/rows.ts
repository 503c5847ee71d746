import type { Actor, NewEntry } from "../domain/audit.ts";
import type { Chaos } from "../domain/chaos.ts";
import { ServiceError } from "../domain/errors.ts";
import { timestamp } from "../domain/representation.ts";
import type { ApiKey, Scope, SecretHash } from "../domain/keys.ts";
import type { Limits } from "../domain/limits.ts";
import type { Terms } from "../domain/terms.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";

/** A row of a query's result, by column. */
export type Row = Readonly<Record<string, unknown>>;

/** Values to store, by column. */
export type Values = Record<string, string | number | bigint | null>;

/** A merchant with its epoch, which is the number of its resets. Only the storage knows the epoch. */
export interface StoredMerchant extends Merchant {
  epoch: number;
  /** The ids of its customers are derived with this secret. */
  customerSecret: string;
}

/** Returns the value of a nullable column, or undefined for NULL. */
export function optional<T>(value: unknown): T | undefined {
  return value === null ? undefined : (value as T);
}

export function toMerchant(row: Row): Merchant {
  const webhookUrl = optional<string>(row.webhook_url);
  const chaos = optional<string>(row.chaos);
  const state = optional<Merchant["state"]>(row.merchant_state);
  const terms = optional<string>(row.terms);
  return {
    id: row.id as string,
    name: row.name as string,
    createdAt: row.created_at as number,
    clockOffset: row.clock_offset as number,
    movedTo: row.moved_to as number,
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ...(state === undefined ? {} : { state }),
    ...limitsOf(row.limits),
    ...(terms === undefined ? {} : { terms: JSON.parse(terms) as Terms }),
    ...(chaos === undefined ? {} : { chaos: JSON.parse(chaos) as Chaos }),
  };
}

export const toStored = (row: Row): StoredMerchant => ({
  ...toMerchant(row),
  epoch: row.epoch as number,
  customerSecret: row.customer_secret as string,
});

/** Returns a merchant without what only the storage knows. */
export function toShown<T extends StoredMerchant>(stored: T): Omit<T, Exclude<keyof StoredMerchant, keyof Merchant>> {
  const { epoch: _, customerSecret: __, ...merchant } = stored;
  return merchant;
}

export function toKey(row: Row): ApiKey {
  const name = optional<string>(row.name);
  const usedAt = optional<number>(row.used_real);
  const revokedAt = optional<number>(row.revoked_at);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    hash: Buffer.from(row.hash as Uint8Array).toString("hex"),
    hint: row.hint as string,
    ...(name === undefined ? {} : { name }),
    ...scopesOf(row),
    ...limitsOf(row.limits),
    createdAt: row.created_at as number,
    ...(usedAt === undefined ? {} : { usedAt }),
    ...(revokedAt === undefined ? {} : { revokedAt }),
  };
}

/** Hashes are stored as bytes. */
export const bytesOf = (hash: SecretHash): Uint8Array => Buffer.from(hash, "hex");

/** The columns of a key's owner, from the tables `m` and `k`. */
export const OWNER_COLUMNS = "m.*, k.id AS key_id, k.scopes";

export const toOwner = (row: Row): KeyOwner => ({
  merchant: toMerchant(row),
  keyId: row.key_id as string,
  ...scopesOf(row),
});

/** Scopes are stored as one text, with commas. */
function scopesOf(row: Row): Pick<ApiKey, "scopes"> {
  const scopes = optional<string>(row.scopes);
  return scopes === undefined ? {} : { scopes: scopes.split(",") as Scope[] };
}

/** Limits are stored as JSON. */
export function limitsOf(column: unknown): { limits?: Limits } {
  const limits = optional<string>(column);
  return limits === undefined ? {} : { limits: JSON.parse(limits) as Limits };
}

/** The entry of the audit trail about a new key. */
export const keyCreated = (
  { id, merchantId, name, scopes }: Pick<ApiKey, "id" | "merchantId" | "name" | "scopes">,
  actor: Actor,
): NewEntry => ({
  actor,
  action: "key.create",
  merchantId,
  details: { key: id, ...(name !== undefined && { name }), ...(scopes && { scopes: scopes.join() }) },
});

/** The error of a request whose key was revoked after its authentication. */
export const keyRevoked = () => new ServiceError("unauthorized", "This API key is not valid.");

/** The entry of the audit trail about a move of a clock to a sandbox time. */
export const clockMoved = (merchantId: string, to: number, actor: Actor): NewEntry => ({
  actor,
  action: "sandbox.advance",
  merchantId,
  details: { to: timestamp(to) },
});
