import type { Draft } from "../../domain/records.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { customerIdOf, hasStoredCustomers } from "../customers.ts";
import type { LockedMerchant } from "../portable/locked-merchant.ts";
import { unnested } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";

interface Wanted {
  merchant: LockedMerchant;
  draft: Draft<Disbursement>;
}

const SELECT = `SELECT c.* FROM ${unnested(["text", "bigint", "text"])} AS wanted (merchant_id, epoch, phone_number)
  CROSS JOIN LATERAL (SELECT * FROM customers c WHERE c.merchant_id = wanted.merchant_id AND c.epoch = wanted.epoch
    AND c.phone_number = wanted.phone_number LIMIT 1) AS c`;

const keyOf = (merchantId: unknown, phoneNumber: unknown) => `${merchantId} ${phoneNumber}`;

/** Returns a function that returns the id of a payout's customer. A merchant has one customer per number (D19). */
export async function customersOf(query: Query, wanted: readonly Wanted[]): Promise<(wanted: Wanted) => string> {
  const perhaps = wanted.filter(({ merchant }) => hasStoredCustomers(merchant));
  const { rows } =
    perhaps.length === 0
      ? { rows: [] }
      : await query(SELECT, [
          perhaps.map(({ merchant }) => merchant.id),
          perhaps.map(({ merchant }) => merchant.epoch),
          perhaps.map(({ draft }) => draft.customer.phoneNumber),
        ]);
  const stored = new Map(rows.map((row) => [keyOf(row.merchant_id, row.phone_number), row.id as string]));
  return ({ merchant, draft: { customer } }) =>
    stored.get(keyOf(merchant.id, customer.phoneNumber)) ?? customerIdOf(merchant, customer.phoneNumber);
}
