import type { PaymentSearch } from "../../domain/payment-search.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import type { Executor } from "./query.ts";

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CONDITIONS = ["reference = :text", "merchants_reference = :text", "phone_number = :phone"];
/** The statement reads one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const FIND = (table: string) =>
  CONDITIONS.map(
    (condition) => `SELECT * FROM (SELECT r.* FROM merchants m CROSS JOIN ${table} r
      WHERE r.merchant_id = m.id AND r.epoch = m.epoch AND r.${condition} LIMIT ${MOST}) AS found`,
  ).join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

/** Searches the payments of all merchants. */
export const paymentSearch = ({ readAll }: Executor): PaymentSearch => ({
  async searchPayments({ text, phoneNumber: phone = "", limit }) {
    const values = { text, phone, limit };
    const tables = ["disbursements", "checkouts"].map((table) => ({ text: FIND(table), values }));
    const [payouts, checkouts] = await readAll(tables);
    return [...payouts!.map(toDisbursement), ...checkouts!.map(toCheckout)].toSorted(
      (a, b) => b.createdAt - a.createdAt,
    );
  },
});
