import type { Actor, NewEntry } from "../domain/audit.ts";
import { ServiceError } from "../domain/errors.ts";
import { timestamp } from "../domain/representation.ts";
import type { ApiKey, Scope, SecretHash } from "../domain/keys.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";

/** A row of a query's result, by column. The schema decides the types of the values, which the compiler cannot know. */
export type Row = Readonly<Record<string, any>>;

/** Values to store, by column. */
export type Values = Record<string, string | number | bigint | Uint8Array | null>;

/** A merchant with what only the storage knows. */
export interface StoredMerchant extends Merchant {
  /** The ids of its customers are derived with this secret. A reset of the sandbox replaces it. */
  customerSecret: string;
}

/** Returns the value of a nullable column, or undefined for NULL. */
export function optional<T>(value: unknown): T | undefined {
  return value === null ? undefined : (value as T);
}

/** Makes an object of the values of a row. A field whose value is NULL is absent. */
export function toObject<T>(values: Readonly<Record<keyof T, unknown>>): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)) as T;
}

/** The value of a column with JSON; NULL stays null. */
export const fromJson = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

export const toMerchant = (row: Row): Merchant =>
  toObject<Merchant>({
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    clockOffset: row.clock_offset,
    isResetting: row.resetting ? true : null,
    webhookUrl: row.webhook_url,
    state: row.merchant_state,
    limits: fromJson(row.limits),
    terms: fromJson(row.terms),
    chaos: fromJson(row.chaos),
  });

export const toStored = (row: Row): StoredMerchant => ({
  ...toMerchant(row),
  customerSecret: row.customer_secret,
});

/** Returns a merchant without what only the storage knows. */
export function toShown<T extends StoredMerchant>(stored: T): Omit<T, Exclude<keyof StoredMerchant, keyof Merchant>> {
  const { customerSecret: _, ...merchant } = stored;
  return merchant;
}

/** Scopes are stored as one text, with commas. */
const scopesOf = ({ scopes }: Row): Scope[] | null => scopes && scopes.split(",");

export const toKey = (row: Row): ApiKey =>
  toObject<ApiKey>({
    id: row.id,
    merchantId: row.merchant_id,
    hash: Buffer.from(row.hash).toString("hex"),
    hint: row.hint,
    name: row.name,
    scopes: scopesOf(row),
    limits: fromJson(row.limits),
    createdAt: row.created_at,
    usedAt: row.used_real,
    revokedAt: row.revoked_at,
  });

/** Hashes are stored as bytes. */
export const bytesOf = (hash: SecretHash): Uint8Array => Buffer.from(hash, "hex");

export const toOwner = (row: Row): KeyOwner =>
  toObject<KeyOwner>({ merchant: toMerchant(row), keyId: row.key_id, scopes: scopesOf(row) });

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
