import { MOST_COUNTED, type ClockStore } from "../../domain/storage.ts";
import { DUE_TABLES, toUpcoming } from "../upcoming-rows.ts";
import type { Context } from "./context.ts";

export function upcoming({ db, read, merchantOf }: Context): ClockStore["listUpcoming"] {
  const tables = DUE_TABLES.map(({ kind, table, dueAt, columns }) => {
    const which = `FROM ${table} WHERE merchant_id = ? AND epoch = ? AND ${dueAt} <= ?`;
    return {
      kind,
      list: db.prepare(`SELECT ${columns}, ${dueAt} AS due ${which} ORDER BY ${dueAt} LIMIT ?`),
      count: db.prepare(`SELECT count(*) AS count FROM (SELECT 1 ${which} LIMIT ${MOST_COUNTED})`),
    };
  });
  return async (merchantId, until, limit) =>
    read(() => {
      const place = [merchantId, merchantOf(merchantId)!.epoch, until] as const;
      const found = tables.map(({ kind, list, count }) => ({
        kind,
        rows: list.all(...place, limit),
        count: count.get(...place)!.count as number,
      }));
      return toUpcoming(found, limit);
    });
}
