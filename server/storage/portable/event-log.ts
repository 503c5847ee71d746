import type { Delivery, EventLog } from "../../domain/deliveries.ts";
import { toAttempt, toDelivery, toEvent } from "./event-rows.ts";
import type { Row } from "../rows.ts";
import { OFFSET, pageOf } from "./event-search.ts";
import type { Executor } from "./query.ts";

const SELECT = `SELECT *, ${OFFSET} FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL`;
const ATTEMPTS = "SELECT * FROM attempts WHERE merchant_id = :merchant AND event_id = ANY(:ids::text[])";

export function eventLog(executor: Executor): EventLog {
  const { read } = executor;

  /** Adds the attempts of deliveries of one merchant. */
  async function withAttempts(merchant: string, rows: readonly Row[]): Promise<Delivery[]> {
    if (rows.length === 0) return [];
    const found = await read({ text: ATTEMPTS, values: { merchant, ids: rows.map(({ id }) => id as string) } });
    const attempts = Map.groupBy(found, ({ event_id }) => event_id);
    return rows.map((row) => {
      const made = (attempts.get(row.id) ?? []).map(toAttempt);
      return toDelivery(
        row,
        made.toSorted((a, b) => a.number - b.number),
      );
    });
  }

  return {
    async findDelivery(merchant, id) {
      const rows = await read({ text: SELECT, values: { merchant, id } });
      return (await withAttempts(merchant, rows))[0];
    },
    async listEvents(query) {
      const { items, ...rest } = await pageOf(executor, "events", query);
      return { ...rest, items: items.map(toEvent) };
    },
    async listDeliveries(query) {
      const { items, ...rest } = await pageOf(executor, "deliveries", query);
      return { ...rest, items: await withAttempts(query.merchantId, items) };
    },
  };
}
