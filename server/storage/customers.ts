// The customers of a merchant, who have one id per phone number (D19).
import { hmacs } from "../domain/secrets.ts";
import type { Customer } from "../domain/records.ts";
import type { StoredMerchant } from "./rows.ts";

/** What a customer's id is derived from, besides the phone number. */
type CustomerSource = Pick<StoredMerchant, "id" | "createdAt" | "epoch" | "customerSecret">;

const hmac = hmacs("hex", (secret) => Buffer.from(secret));

/**
 * Returns a merchant's customer. Its id is a UUIDv7 with the time of the merchant's creation. Because of the merchant's
 * secret, the id does not reveal the phone number.
 */
export function customerOf({ id, createdAt, epoch, customerSecret }: CustomerSource, phoneNumber: string): Customer {
  const time = createdAt.toString(16).padStart(12, "0");
  const digits = hmac(customerSecret, `${id} ${epoch} ${phoneNumber}`);
  const start = `${time.slice(0, 8)}-${time.slice(8)}`;
  return { id: `${start}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`, phoneNumber };
}
