import { MOST_COUNTED } from "../../domain/storage.ts";
import type { ClockStore } from "../../domain/clock-store.ts";
import type { Executor } from "./query.ts";
import { DUE_TABLES, toUpcoming } from "./upcoming-rows.ts";

const TABLES = DUE_TABLES.map(({ kind, table, dueAt, columns }) => {
  const which = `FROM ${table} WHERE merchant_id = :merchant
    AND epoch = (SELECT epoch FROM merchants WHERE id = :merchant) AND ${dueAt} <= :until`;
  return {
    kind,
    list: `SELECT ${columns}, ${dueAt} AS due ${which} ORDER BY ${dueAt} LIMIT :limit`,
    count: `SELECT count(*) AS count FROM (SELECT 1 ${which} LIMIT ${MOST_COUNTED}) AS found`,
  };
});

export const upcoming = ({ readAll }: Executor): Pick<ClockStore, "listUpcoming"> => ({
  async listUpcoming(merchantId, until, limit) {
    const values = { merchant: merchantId, until, limit };
    const results = await readAll(TABLES.flatMap(({ list, count }) => [list, count]).map((text) => ({ text, values })));
    const found = TABLES.map(({ kind }, index) => ({
      kind,
      rows: results[2 * index]!,
      count: results[2 * index + 1]![0]!.count as number,
    }));
    return toUpcoming(found, limit);
  },
});
