import type { PaymentSearch } from "../../domain/storage.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import { payoutsOfPhone } from "../sqlite/phone-segments.ts";
import type { Executor } from "./query.ts";

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CURRENT = "r.merchant_id = m.id AND r.epoch = m.epoch";
const REFERENCES = ["reference = :text", "merchants_reference = :text"];
const WITH_PHONE = [...REFERENCES, "phone_number = :phone"];
/** The statement reads one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const find = (table: string, conditions: readonly string[]) =>
  conditions
    .map(
      (condition) => `SELECT * FROM (SELECT r.* FROM merchants m CROSS JOIN ${table} r
      WHERE ${CURRENT} AND r.${condition} LIMIT ${MOST}) AS found`,
    )
    .join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

/** Searches the payments of all merchants. */
export const paymentSearch = (executor: Executor): PaymentSearch => {
  const hasSegments = executor.database === "sqlite";
  return {
    async searchPayments({ text, phoneNumber: phone = "", limit }) {
      const values = { text, phone, limit };
      const [payouts, checkouts] = await executor.readAll([
        { text: find("disbursements", hasSegments ? REFERENCES : WITH_PHONE), values },
        { text: find("checkouts", WITH_PHONE), values },
      ]);
      const conditions = `EXISTS (SELECT 1 FROM merchants m WHERE ${CURRENT})`;
      const ofPhone =
        hasSegments && phone !== "" ? await payoutsOfPhone(executor, { conditions, values: { phone }, limit }) : [];
      const byId = new Map([...payouts!, ...ofPhone].map((row) => [row.id, row]));
      return [...[...byId.values()].map(toDisbursement), ...checkouts!.map(toCheckout)].toSorted(
        (a, b) => b.createdAt - a.createdAt,
      );
    },
  };
};
