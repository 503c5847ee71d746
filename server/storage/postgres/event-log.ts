import type { EventLog } from "../../domain/event-log.ts";
import type { Delivery } from "../../domain/deliveries.ts";
import { toAttempt, toDelivery, toEvent } from "../event-rows.ts";
import { pageOf, type EventReader } from "../event-search.ts";
import type { Row } from "../rows.ts";
import type { Context } from "./context.ts";

export const eventReader = ({ db }: Pick<Context, "db">): EventReader => ({
  place: (number) => `$${number}`,
  unindexed: (condition) => condition,
  read: async (sql, values) => (await db.read(sql, values)).rows,
});

export function eventLog(context: Context): EventLog {
  const { db } = context;
  const reader = eventReader(context);

  /** Adds the attempts of deliveries of one merchant. */
  async function withAttempts(merchantId: string, rows: readonly Row[]): Promise<Delivery[]> {
    const found = await db.read(
      "SELECT * FROM attempts WHERE merchant_id = $1 AND event_id = ANY($2::text[]) ORDER BY event_id, number",
      [merchantId, rows.map(({ id }) => id)],
    );
    const attempts = Map.groupBy(found.rows, ({ event_id }) => event_id);
    return rows.map((row) => toDelivery(row, (attempts.get(row.id) ?? []).map(toAttempt)));
  }

  return {
    async findDelivery(merchantId, id) {
      const { rows } = await db.read(
        `SELECT e.* FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
         WHERE e.merchant_id = $1 AND e.id = $2 AND e.url IS NOT NULL`,
        [merchantId, id],
      );
      return (await withAttempts(merchantId, rows))[0];
    },
    async listEvents(query) {
      const { items, ...rest } = await pageOf(reader, "events", query);
      return { ...rest, items: items.map(toEvent) };
    },
    async listDeliveries(query) {
      const { items, ...rest } = await pageOf(reader, "deliveries", query);
      return { ...rest, items: await withAttempts(query.merchantId, items) };
    },
  };
}
