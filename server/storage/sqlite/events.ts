import type { DatabaseSync } from "node:sqlite";
import { eventOf, receiverOf } from "../../domain/events.ts";
import type { Checkout, Disbursement } from "../../domain/types.ts";
import type { StoredMerchant, Values } from "../rows.ts";
import { insertInto } from "./context.ts";

const COLUMNS =
  "id merchant_id epoch type reference created_at body url host status next_attempt_at ready traceparent".split(" ");

export interface EventWriter {
  /** Writes the event of a record that has become final, inside the transaction of that change. */
  insert(record: Disbursement | Checkout, merchant: StoredMerchant): void;
}

export function eventWriter(db: DatabaseSync): EventWriter {
  const insert = insertInto(db, "events", COLUMNS);
  return {
    insert(record, { name, epoch, webhookUrl }) {
      const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, name);
      const url = record.webhookURL ?? webhookUrl;
      const delivery: Values =
        url === undefined
          ? { ready: 0 }
          : { url, host: receiverOf(url), status: "pending", next_attempt_at: createdAt, ready: 1 };
      insert({
        id,
        merchant_id: merchantId,
        epoch,
        type,
        reference,
        created_at: createdAt,
        body,
        traceparent,
        ...delivery,
      });
    },
  };
}
