import { ServiceError } from "../domain/errors.ts";
import type { ApiKey, SecretHash } from "../domain/keys.ts";
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

/** The value of a column with JSON; NULL stays null. */
export const fromJson = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

/** How columns of these names are read, if not as they are stored. */
const READ: Readonly<Record<string, (value: any) => unknown>> = {
  resetting: (value) => (value ? true : undefined),
  hash: (bytes) => Buffer.from(bytes).toString("hex"),
  scopes: (text) => text.split(","),
  ...Object.fromEntries(
    ["limits", "terms", "chaos", "filter", "details", "failure", "approval", "proposal"].map((name) => [
      name,
      JSON.parse,
    ]),
  ),
};

/** The field of a column: `merchantId` of `merchant_id`, `createdAt` of `created_real`, and `at` of `at_real`. */
const fieldOf = (column: string) =>
  column
    .replace("at_real", "at")
    .replace("_real", "_at")
    .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Returns a function that makes an object of columns of a row. A field whose column is NULL is absent.
 * @param names the columns; `merchant_state:state` if the field has another name than the column
 */
export function fields<T>(names: string): (row: Row) => T {
  const columns = names.split(" ").map((name) => {
    const [column = "", field = fieldOf(column)] = name.split(":");
    return { column, field, read: READ[column] };
  });
  return (row) => {
    const object: Record<string, unknown> = {};
    for (const { column, field, read } of columns) {
      const stored = row[column] ?? undefined;
      const value = stored === undefined || read === undefined ? stored : read(stored);
      if (value !== undefined) object[field] = value;
    }
    return object as T;
  };
}

const MERCHANT =
  "id name created_at clock_offset resetting:isResetting webhook_url merchant_state:state limits terms chaos";
export const toMerchant = fields<Merchant>(MERCHANT);
export const toStored = fields<StoredMerchant>(`${MERCHANT} customer_secret`);

/** Returns a merchant without what only the storage knows. */
export function toShown<T extends StoredMerchant>(stored: T): Omit<T, Exclude<keyof StoredMerchant, keyof Merchant>> {
  const { customerSecret: _, ...merchant } = stored;
  return merchant;
}

export const toKey = fields<ApiKey>("id merchant_id hash hint name scopes limits created_at used_real revoked_at");

/** Hashes are stored as bytes. */
export const bytesOf = (hash: SecretHash): Uint8Array => Buffer.from(hash, "hex");

const ownedKey = fields<Omit<KeyOwner, "merchant">>("key_id scopes");
export const toOwner = (row: Row): KeyOwner => ({ merchant: toMerchant(row), ...ownedKey(row) });

/** The error of a request whose key was revoked after its authentication. */
export const keyRevoked = () => new ServiceError("unauthorized", "This API key is not valid.");
