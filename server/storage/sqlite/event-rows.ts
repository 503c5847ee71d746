import type { DatabaseSync } from "node:sqlite";
import type { Attempt, Event, EventType } from "../../domain/storage.ts";
import { optional, type Row } from "./context.ts";
import { toCheckout, toDisbursement } from "./records.ts";

/** Reads events with the records they tell of. */
export function eventReader(db: DatabaseSync): (row: Row) => Event {
  const disbursement = db.prepare("SELECT * FROM disbursements WHERE reference = ?");
  const checkout = db.prepare("SELECT * FROM checkouts WHERE reference = ?");
  return (row) => {
    const type = row.type as EventType;
    const reference = row.reference as string;
    return {
      id: row.id as string,
      merchantId: row.merchant_id as string,
      type,
      createdAt: row.created_at as number,
      record: type.startsWith("disbursement.")
        ? toDisbursement(disbursement.get(reference)!)
        : toCheckout(checkout.get(reference)!),
    };
  };
}

export function toAttempt(row: Row): Attempt {
  const httpStatus = optional<number>(row.http_status!);
  const responseBody = optional<string>(row.response_body!);
  const error = optional<string>(row.error!);
  return {
    number: row.number as number,
    at: row.at as number,
    sentAt: row.sent_at as number,
    latencyMs: row.latency_ms as number,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(responseBody === undefined ? {} : { responseBody }),
    ...(error === undefined ? {} : { error }),
  };
}
