import type { SQLInputValue } from "node:sqlite";
import type { Delivery, DeliveryLog, Page } from "../../domain/storage.ts";
import { optional, type Context, type Row } from "./context.ts";
import { eventReader, toAttempt } from "./event-rows.ts";

export function deliveryLog({ db }: Context): DeliveryLog {
  const toEvent = eventReader(db);
  const selectEvent = db.prepare("SELECT * FROM events WHERE merchant_id = ? AND id = ? AND url IS NOT NULL");
  const selectAttempts = db.prepare("SELECT * FROM attempts WHERE event_id = ? ORDER BY number");
  const pageWhere = (filter: string) =>
    db.prepare(
      `SELECT * FROM events WHERE merchant_id = :merchant AND (:reference IS NULL OR reference = :reference)
         AND (:before IS NULL OR seq < (SELECT seq FROM events WHERE id = :before)) AND ${filter}
       ORDER BY seq DESC LIMIT :limit`,
    );
  const pageOfEvents = pageWhere("TRUE");
  const pageOfDeliveries = pageWhere("url IS NOT NULL AND (:status IS NULL OR status = :status)");

  function toDelivery(row: Row): Delivery {
    const nextAttemptAt = optional<number>(row.next_attempt_at!);
    return {
      ...toEvent(row),
      url: row.url as string,
      status: row.status as Delivery["status"],
      step: row.step as number,
      ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
      attempts: selectAttempts.all(row.id as string).map(toAttempt),
    };
  }

  return {
    async findDelivery(merchantId, id) {
      const row = selectEvent.get(merchantId, id);
      return row && toDelivery(row);
    },
    async listEvents(page) {
      return pageOfEvents.all(parameters(page)).map(toEvent);
    },
    async listDeliveries(page) {
      return pageOfDeliveries.all({ ...parameters(page), status: page.status ?? null }).map(toDelivery);
    },
  };
}

const parameters = ({ merchantId, reference, before, limit }: Page): Record<string, SQLInputValue> => ({
  merchant: merchantId,
  reference: reference ?? null,
  before: before ?? null,
  limit,
});
