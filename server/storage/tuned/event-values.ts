import { destinationOf, eventOf } from "../../domain/events.ts";
import type { FinalRecord } from "../portable/query.ts";
import type { Values } from "../rows.ts";

/** Returns the row of the event of a record that has become final. */
export function eventValues({ record, merchant }: FinalRecord): Values {
  const { name, epoch } = merchant;
  const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, name);
  const destination = destinationOf(record, merchant);
  return {
    id,
    merchant_id: merchantId,
    epoch,
    type,
    reference,
    created_at: createdAt,
    body,
    traceparent,
    step: 0,
    ...(destination ? { ...destination, status: "pending", next_attempt_at: createdAt, ready: 1 } : { ready: 0 }),
  };
}
