import type { PaymentSearch } from "../../domain/storage.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import type { Executor } from "./query.ts";

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CURRENT = "r.merchant_id = m.id AND r.epoch = m.epoch";
const CONDITIONS = ["reference = :text", "merchants_reference = :text", "phone_number = :phone"];
/** The statement reads one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const find = (table: string) =>
  CONDITIONS.map(
    (condition) => `SELECT * FROM (SELECT r.* FROM merchants m CROSS JOIN ${table} r
      WHERE ${CURRENT} AND r.${condition} LIMIT ${MOST}) AS found`,
  ).join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

const FIND = ["disbursements", "checkouts"].map(find);

/** Searches the payments of all merchants. */
export const paymentSearch = ({ readAll }: Executor): PaymentSearch => ({
  async searchPayments({ text, phoneNumber: phone = "", limit }) {
    const values = { text, phone, limit };
    const [payouts, checkouts] = await readAll(FIND.map((sql) => ({ text: sql, values })));
    return [...payouts!.map(toDisbursement), ...checkouts!.map(toCheckout)].toSorted(
      (a, b) => b.createdAt - a.createdAt,
    );
  },
});
