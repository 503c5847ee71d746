import type { Customer } from "../../domain/types.ts";
import type { StoredMerchant } from "../rows.ts";
import { inserter, unnested } from "./context.ts";
import type { Query } from "./database.ts";
import { byText } from "./record-columns.ts";

interface Wanted {
  merchant: StoredMerchant;
  customer: Customer;
}

const insert = inserter(
  "customers",
  { merchant_id: "text", epoch: "bigint", phone_number: "text", id: "text" },
  "ON CONFLICT (merchant_id, epoch, phone_number) DO NOTHING",
);

/**
 * Finds or creates customers by phone number. A merchant has one customer per number (D19).
 * @returns the customer of each candidate, in order
 */
export async function findOrCreateCustomers(query: Query, wanted: readonly Wanted[]): Promise<Customer[]> {
  const keyOf = ({ merchant, customer }: Wanted) => `${merchant.id} ${merchant.epoch} ${customer.phoneNumber}`;
  const distinct = new Map(wanted.toReversed().map((each) => [keyOf(each), each]));
  // Concurrent transactions insert in the same order, so that they cannot deadlock.
  const rows = [...distinct.keys()].toSorted(byText).map((key) => {
    const { merchant, customer } = distinct.get(key)!;
    return { merchant_id: merchant.id, epoch: merchant.epoch, phone_number: customer.phoneNumber, id: customer.id };
  });
  const [, found] = await Promise.all([
    insert(query, rows),
    query(
      `SELECT c.* FROM ${unnested(["text", "bigint", "text"])} AS wanted (merchant_id, epoch, phone_number)
       CROSS JOIN LATERAL (SELECT * FROM customers c WHERE c.merchant_id = wanted.merchant_id AND c.epoch = wanted.epoch
         AND c.phone_number = wanted.phone_number LIMIT 1) AS c`,
      [rows.map((row) => row.merchant_id), rows.map(({ epoch }) => epoch), rows.map((row) => row.phone_number)],
    ),
  ]);
  const ids = new Map(
    found.rows.map((row) => [`${row.merchant_id} ${row.epoch} ${row.phone_number}`, row.id as string]),
  );
  return wanted.map((each) => ({ ...each.customer, id: ids.get(keyOf(each))! }));
}
