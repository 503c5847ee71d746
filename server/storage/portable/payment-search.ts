import type { PaymentSearch } from "../../domain/storage.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import type { Executor } from "./query.ts";
import { DAY, withDays } from "./record-lists.ts";

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CURRENT = "r.merchant_id = m.id";
/** The statements read one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const ofMerchants = (table: string, condition: string) =>
  `SELECT r.* FROM merchants m CROSS JOIN ${table} r WHERE ${CURRENT} AND r.${condition}`;
/** In SQLite one range for each day. */
const ofDays = (table: string) => `${withDays(table)} SELECT r.* FROM days CROSS JOIN ${table} r CROSS JOIN merchants m
  WHERE r.${DAY} = day AND r.phone_number = :phone AND ${CURRENT}`;

const find = (table: string, ofPhone: string) =>
  [ofMerchants(table, "reference = :text"), ofMerchants(table, "merchants_reference = :text"), ofPhone]
    .map((select) => `SELECT * FROM (${select} LIMIT ${MOST}) AS found`)
    .join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

const FIND = ["disbursements", "checkouts"].map((table) => ({
  sqlite: find(table, ofDays(table)),
  postgres: find(table, ofMerchants(table, "phone_number = :phone")),
}));

/** Searches the payments of all merchants. */
export const paymentSearch = ({ readAll }: Executor): PaymentSearch => ({
  async searchPayments({ text, phoneNumber: phone = "", limit }) {
    const values = { text, phone, from: 0, before: Number.MAX_SAFE_INTEGER, limit };
    const [payouts, checkouts] = await readAll(FIND.map((statement) => ({ text: statement, values })));
    return [...payouts!.map(toDisbursement), ...checkouts!.map(toCheckout)].toSorted(
      (a, b) => b.createdAt - a.createdAt,
    );
  },
});
