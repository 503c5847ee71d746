import type { DatabaseSync } from "node:sqlite";
import type { Customer } from "../../domain/records.ts";
import type { StoredMerchant } from "../rows.ts";

/**
 * Returns a function that finds or creates a merchant's customer by phone number. A merchant has one customer per
 * number (D19).
 */
export function customers(db: DatabaseSync): (merchant: StoredMerchant, candidate: Customer) => Customer {
  const select = db.prepare("SELECT id FROM customers WHERE merchant_id = ? AND epoch = ? AND phone_number = ?");
  const insert = db.prepare("INSERT INTO customers (merchant_id, epoch, phone_number, id) VALUES (?, ?, ?, ?)");
  return ({ id, epoch }, candidate) => {
    const row = select.get(id, epoch, candidate.phoneNumber);
    if (row) return { ...candidate, id: row.id as string };
    insert.run(id, epoch, candidate.phoneNumber, candidate.id);
    return candidate;
  };
}
