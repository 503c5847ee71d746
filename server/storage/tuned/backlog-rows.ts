import type { Backlog } from "../../domain/storage.ts";
import { optional, type Row } from "../rows.ts";

/** Converts a row with one column for each number. A time that does not exist is NULL. */
export function toBacklog(row: Row): Backlog {
  const oldestDeliveryDueAt = optional<number>(row.oldest_delivery);
  const oldestSettlementDueAt = optional<number>(row.oldest_settlement);
  return {
    dueDeliveries: row.due_deliveries as number,
    waitingDeliveries: row.waiting_deliveries as number,
    dueSettlements: row.due_settlements as number,
    ...(oldestDeliveryDueAt === undefined ? {} : { oldestDeliveryDueAt }),
    ...(oldestSettlementDueAt === undefined ? {} : { oldestSettlementDueAt }),
  };
}
