import type { ChangeMarks, ChangeStore } from "../../domain/storage.ts";
import { NEWEST } from "../newest.ts";
import type { Context } from "./context.ts";

const OF_MERCHANT = "merchant_id = :merchant AND epoch = :epoch";
const pending = (table: string) =>
  `SELECT id, due_at FROM ${table} WHERE ${OF_MERCHANT} AND status = 'pending'
   ORDER BY created_at DESC, rowid DESC LIMIT ${NEWEST.payments}`;
const deliveries = (which: string) =>
  `SELECT seq, status, step, claimed, claim_token FROM events WHERE ${OF_MERCHANT} AND ${which}
   ORDER BY seq DESC LIMIT ${NEWEST.payments}`;

export function changes({ db, merchantOf }: Context): ChangeStore {
  const payments = [
    ...["disbursements", "checkouts"].map(pending),
    `SELECT max(seq) FROM events WHERE ${OF_MERCHANT}`,
    deliveries("url IS NOT NULL"),
    deliveries("status IN ('ended', 'exhausted')"),
  ].map((sql) => db.prepare(sql));
  const requests = db.prepare(
    `SELECT at_real, number, request_id FROM request_log WHERE merchant_id = ?
     ORDER BY at_real DESC, number DESC LIMIT ${NEWEST.requests}`,
  );

  function marksOf(merchantId: string): ChangeMarks {
    const { epoch = -1, clockOffset } = merchantOf(merchantId) ?? {};
    const found = payments.map((statement) => statement.all({ merchant: merchantId, epoch }));
    return {
      payments: JSON.stringify([epoch, clockOffset, found]),
      requests: JSON.stringify(requests.all(merchantId)),
    };
  }

  return { readMarks: async (merchantIds) => new Map(merchantIds.map((id) => [id, marksOf(id)])) };
}
