import type { Customer } from "../../domain/records.ts";
import { unnested } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { byText } from "../postgres/text.ts";

interface Wanted {
  merchantId: string;
  customer: Customer;
}

const EPOCH = "(SELECT epoch FROM merchants m WHERE m.id = wanted.merchant_id)";
const INSERT = `INSERT INTO customers (merchant_id, epoch, phone_number, id)
  SELECT wanted.merchant_id, ${EPOCH}, wanted.phone_number, wanted.id
  FROM ${unnested(["text", "text", "text"])} AS wanted (merchant_id, phone_number, id)
  ON CONFLICT (merchant_id, epoch, phone_number) DO NOTHING RETURNING id`;
const REMOVE = `DELETE FROM customers c USING ${unnested(["text", "text", "text"])} AS unused (merchant_id, phone_number, id)
  WHERE c.merchant_id = unused.merchant_id AND c.epoch = ${EPOCH.replace("wanted", "unused")}
    AND c.phone_number = unused.phone_number AND c.id = unused.id`;
const SELECT = `SELECT c.* FROM ${unnested(["text", "text"])} AS wanted (merchant_id, phone_number)
  CROSS JOIN LATERAL (SELECT * FROM customers c WHERE c.merchant_id = wanted.merchant_id AND c.epoch = ${EPOCH}
    AND c.phone_number = wanted.phone_number LIMIT 1) AS c`;

const keyOf = ({ merchantId, customer }: Wanted) => `${merchantId} ${customer.phoneNumber}`;

/**
 * Finds or creates customers by phone number, after the merchants were locked. A merchant has one customer per number
 * (D19).
 * @returns the customer of each candidate, in order, and the candidates whose customers are new
 */
export async function findOrCreateCustomers(
  query: Query,
  wanted: readonly Wanted[],
): Promise<{ customers: Customer[]; created: Wanted[] }> {
  const distinct = new Map(wanted.toReversed().map((each) => [keyOf(each), each]));
  // Concurrent transactions insert in the same order, so that they cannot deadlock.
  const inOrder = [...distinct.keys()].toSorted(byText).map((key) => distinct.get(key)!);
  const keys = [inOrder.map((each) => each.merchantId), inOrder.map(({ customer }) => customer.phoneNumber)];
  const [inserted, found] = await Promise.all([
    query(INSERT, [...keys, inOrder.map(({ customer }) => customer.id)]),
    query(SELECT, keys),
  ]);
  const ids = new Map(found.rows.map((row) => [`${row.merchant_id} ${row.phone_number}`, row.id as string]));
  const created = new Set(inserted.rows.map(({ id }) => id));
  return {
    customers: wanted.map((each) => ({ ...each.customer, id: ids.get(keyOf(each))! })),
    created: inOrder.filter(({ customer }) => created.has(customer.id)),
  };
}

/** Removes new customers whose payouts were not stored: a refused create records nothing. */
export async function removeUnused(query: Query, created: readonly Wanted[], used: ReadonlySet<string>): Promise<void> {
  const unused = created.filter(({ customer }) => !used.has(customer.id));
  if (unused.length === 0) return;
  await query(REMOVE, [
    unused.map((each) => each.merchantId),
    unused.map(({ customer }) => customer.phoneNumber),
    unused.map(({ customer }) => customer.id),
  ]);
}
