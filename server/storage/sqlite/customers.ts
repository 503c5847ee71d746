import type { DatabaseSync } from "node:sqlite";
import type { Customer } from "../../domain/storage.ts";

/** Finds or makes the customer with this number: one per merchant and phone number (D19). */
export function customers(db: DatabaseSync): (merchantId: string, candidate: Customer) => Customer {
  const select = db.prepare("SELECT id FROM customers WHERE merchant_id = ? AND phone_number = ?");
  const insert = db.prepare("INSERT INTO customers (merchant_id, phone_number, id) VALUES (?, ?, ?)");
  return (merchantId, candidate) => {
    const row = select.get(merchantId, candidate.phoneNumber);
    if (row) return { ...candidate, id: row.id as string };
    insert.run(merchantId, candidate.phoneNumber, candidate.id);
    return candidate;
  };
}
