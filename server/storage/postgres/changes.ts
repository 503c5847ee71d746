import type { ChangeStore } from "../../domain/storage.ts";
import { NEWEST } from "../newest.ts";
import type { Context } from "./context.ts";

const OF_MERCHANT = "merchant_id = m.id AND epoch = m.epoch";
const joined = (columns: string, from: string) =>
  `(SELECT string_agg(concat_ws(' ', ${columns}), ',') FROM (SELECT ${columns} FROM ${from}) AS newest)`;
const pending = (table: string) =>
  joined(
    "id, due_at",
    `${table} WHERE ${OF_MERCHANT} AND status = 'pending' ORDER BY created_at DESC, id DESC LIMIT ${NEWEST.payments}`,
  );
const deliveries = (which: string) =>
  joined(
    "seq, status, step, claimed, claim_token",
    `events WHERE ${OF_MERCHANT} AND ${which} ORDER BY seq DESC LIMIT ${NEWEST.payments}`,
  );
const requests = joined(
  "at_real, number, request_id",
  `request_log WHERE merchant_id = m.id ORDER BY at_real DESC, number DESC LIMIT ${NEWEST.requests}`,
);
const MARKS = `SELECT m.id, ${requests} AS requests, concat_ws('|', m.epoch, m.clock_offset, m.last_event,
    ${["disbursements", "checkouts"].map(pending).join(", ")}, ${deliveries("url IS NOT NULL")},
    ${deliveries("status IN ('ended', 'exhausted')")}) AS payments
  FROM merchants m WHERE m.id = ANY($1::text[])`;

export function changes({ db }: Context): ChangeStore {
  return {
    async readMarks(merchantIds) {
      const { rows } = await db.read(MARKS, [merchantIds]);
      const marks = rows.map((row) => ({ payments: row.payments as string, requests: (row.requests ?? "") as string }));
      return new Map(rows.map((row, index) => [row.id as string, marks[index]!]));
    },
  };
}
