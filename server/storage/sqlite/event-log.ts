import type { SQLInputValue } from "node:sqlite";
import type { EventLog } from "../../domain/event-log.ts";
import type { Delivery } from "../../domain/deliveries.ts";
import { toAttempt, toDelivery, toEvent } from "../event-rows.ts";
import { pageOf, type EventReader } from "../event-search.ts";
import type { Context, Row } from "./context.ts";

/** Prepares each statement once: every combination of filters is one, so that each can use its index. */
export function eventReader({ db }: Pick<Context, "db">): EventReader {
  const prepared = new Map<string, ReturnType<typeof db.prepare>>();
  return {
    place: (number) => `?${number}`,
    unindexed: (condition) => `+${condition}`,
    async read(sql, values) {
      const known = prepared.get(sql) ?? db.prepare(sql);
      prepared.set(sql, known);
      return known.all(...(values as SQLInputValue[]));
    },
  };
}

export function eventLog(context: Context): EventLog {
  const { db, merchantOf, reader } = context;
  const selectEvent = db.prepare("SELECT * FROM events WHERE id = ? AND url IS NOT NULL");
  const selectAttempts = db.prepare("SELECT * FROM attempts WHERE event_id = ? ORDER BY number");
  const withAttempts = (row: Row): Delivery => toDelivery(row, selectAttempts.all(row.id as string).map(toAttempt));

  return {
    async findDelivery(merchantId, id) {
      const row = selectEvent.get(id);
      const isCurrent = row?.merchant_id === merchantId && merchantOf(merchantId)?.epoch === row.epoch;
      return isCurrent ? withAttempts(row!) : undefined;
    },
    async listEvents(query) {
      const { items, ...rest } = await pageOf(reader, "events", query);
      return { ...rest, items: items.map(toEvent) };
    },
    async listDeliveries(query) {
      const { items, ...rest } = await pageOf(reader, "deliveries", query);
      return { ...rest, items: items.map((row) => withAttempts(row as Row)) };
    },
  };
}
