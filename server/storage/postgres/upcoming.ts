import { MOST_COUNTED, type ClockStore } from "../../domain/storage.ts";
import { DUE_TABLES, toUpcoming } from "../upcoming-rows.ts";
import type { Context } from "./context.ts";

const TABLES = DUE_TABLES.map(({ kind, table, dueAt, columns }) => {
  const which = `FROM ${table} WHERE merchant_id = $1 AND epoch = (SELECT epoch FROM merchants WHERE id = $1)
    AND ${dueAt} <= $2`;
  return {
    kind,
    list: `SELECT ${columns}, ${dueAt} AS due ${which} ORDER BY ${dueAt} LIMIT $3`,
    count: `SELECT count(*) AS count FROM (SELECT 1 ${which} LIMIT ${MOST_COUNTED}) AS found`,
  };
});

export function upcoming({ db }: Context): ClockStore["listUpcoming"] {
  return async (merchantId, until, limit) => {
    const found = TABLES.map(async ({ kind, list, count }) => {
      const [{ rows }, counted] = await Promise.all([
        db.read(list, [merchantId, until, limit]),
        db.read(count, [merchantId, until]),
      ]);
      return { kind, rows, count: counted.rows[0]!.count as number };
    });
    return toUpcoming(await Promise.all(found), limit);
  };
}
