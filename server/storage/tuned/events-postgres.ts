import { insertRows, type FinalRecord, type Work } from "../portable/query.ts";
import { ended } from "../ledger-rows.ts";
import { eventValues } from "../portable/event-rows.ts";
import { book } from "./ledger-postgres.ts";

const NUMBER = `UPDATE merchants m SET last_event = m.last_event + given.count
  FROM :rows WHERE m.id = given.merchant_id
  RETURNING m.id, m.last_event - given.count AS last_event`;
const COUNTS = { merchant_id: "text", count: "bigint" };

/** Writes the events of records that have become final, books their ends, and gives each merchant's events consecutive positions. */
export function* writeEvents(records: readonly FinalRecord[]): Work<void> {
  if (records.length === 0) return;
  const byMerchant = Map.groupBy(records, ({ merchant }) => merchant.id);
  const counts = [...byMerchant].map(([id, { length }]) => ({ merchant_id: id, count: length }));
  const [numbered] = yield [{ text: NUMBER, rows: { columns: COUNTS, values: counts } }];
  const values = numbered!.rows.flatMap((row) =>
    byMerchant.get(row.id as string)!.map((final, index) => ({
      ...eventValues(final),
      seq: (row.last_event as number) + index + 1,
    })),
  );
  yield [insertRows("events", values)];
  yield* book(records.flatMap(({ record, merchant }) => ended(record, merchant)));
}
