import type { DatabaseSync } from "node:sqlite";
import { destinationOf, eventOf } from "../../domain/events.ts";
import { LISTENER_CONNECTED_MS } from "../../domain/listeners.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { StoredMerchant, Values } from "../rows.ts";
import { insertInto } from "./context.ts";

const COLUMNS =
  "id merchant_id epoch type reference created_at body url host status next_attempt_at ready traceparent".split(" ");

export interface EventWriter {
  /** Writes the event of a record that has become final, inside the transaction of that change. */
  insert(record: Disbursement | Checkout, merchant: StoredMerchant): void;
}

export function eventWriter(db: DatabaseSync, now: () => number): EventWriter {
  const insert = insertInto(db, "events", COLUMNS);
  const connected = db.prepare("SELECT url FROM listeners WHERE merchant_id = ? AND seen_real > ?");
  return {
    insert(record, merchant) {
      const { name, epoch } = merchant;
      const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, name);
      const listener = connected.get(merchantId, now() - LISTENER_CONNECTED_MS);
      const destination = destinationOf(record, merchant, listener?.url as string | undefined);
      const delivery: Values = destination
        ? { ...destination, status: "pending", next_attempt_at: createdAt, ready: 1 }
        : { ready: 0 };
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
