import type { ChangeStore } from "../../domain/storage.ts";
import { NEWEST } from "./newest.ts";
import type { Database, Executor } from "./query.ts";

const OF_MERCHANT = "merchant_id = m.id AND epoch = m.epoch";
const joined = (columns: string, from: string) =>
  `(SELECT string_agg(concat_ws(' ', ${columns}), ',') FROM (SELECT ${columns} FROM ${from}) AS newest)`;
const deliveries = (which: string) =>
  joined(
    "seq, status, step, claimed, claim_token",
    `events WHERE ${OF_MERCHANT} AND ${which} ORDER BY seq DESC LIMIT ${NEWEST.payments}`,
  );
const REQUESTS = joined(
  "at_real, number, request_id",
  `request_log WHERE merchant_id = m.id ORDER BY at_real DESC, number DESC LIMIT ${NEWEST.requests}`,
);

/** @param key orders the records of one millisecond. @param lastEvent the position of a merchant's last event */
function marks(key: string, lastEvent: string): string {
  const pending = (table: string) =>
    joined(
      "id, due_at",
      `${table} WHERE ${OF_MERCHANT} AND status = 'pending' ORDER BY created_at DESC, ${key} DESC LIMIT ${NEWEST.payments}`,
    );
  return `SELECT m.id, ${REQUESTS} AS requests, concat_ws('|', m.epoch, m.clock_offset, ${lastEvent},
      ${["disbursements", "checkouts"].map(pending).join(", ")}, ${deliveries("url IS NOT NULL")},
      ${deliveries("status IN ('ended', 'exhausted')")}) AS payments
    FROM merchants m WHERE m.id = ANY(:merchants::text[])`;
}

const MARKS: Record<Database, string> = {
  sqlite: marks("rowid", `(SELECT max(seq) FROM events WHERE ${OF_MERCHANT})`),
  postgres: marks("id", "m.last_event"),
};

export const changes = ({ read }: Executor): ChangeStore => ({
  async readMarks(merchantIds) {
    const rows = await read({ text: MARKS, values: { merchants: merchantIds } });
    const marksOf = (row: (typeof rows)[number]) => ({
      payments: row.payments as string,
      requests: (row.requests ?? "") as string,
    });
    return new Map(rows.map((row) => [row.id as string, marksOf(row)]));
  },
});
