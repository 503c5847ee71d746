import type { DatabaseSync } from "node:sqlite";
import { eventId, eventType, type RecordKind } from "../../domain/event.ts";
import type { Checkout, Disbursement, FinalStatus } from "../../domain/storage.ts";
import { receiverOf } from "../../webhooks/limits.ts";

/** Writes events, inside the transaction of the status change they tell of. */
export interface Events {
  insert(kind: RecordKind, record: Disbursement | Checkout, status: FinalStatus): void;
}

export function events(db: DatabaseSync): Events {
  const insert = db.prepare(
    `INSERT INTO events (id, merchant_id, type, reference, created_at, url, host, status, next_attempt_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    insert(kind, { id, merchantId, reference, updatedAt, webhookURL }, status) {
      const base = [eventId(id), merchantId, eventType(kind, status), reference, updatedAt] as const;
      if (webhookURL === undefined) insert.run(...base, null, null, null, null);
      else insert.run(...base, webhookURL, receiverOf(webhookURL), "pending", updatedAt);
    },
  };
}
