import { destinationOf, eventOf } from "../../domain/events.ts";
import { LISTENER_CONNECTED_MS } from "../../domain/listeners.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { optional, type StoredMerchant, type Values } from "../rows.ts";
import { inserter, unnested } from "./context.ts";
import type { Query } from "./database.ts";

const insert = inserter("events", {
  merchant_id: "text",
  id: "text",
  epoch: "bigint",
  seq: "bigint",
  type: "text",
  reference: "text",
  created_at: "bigint",
  body: "text",
  url: "text",
  host: "text",
  status: "text",
  next_attempt_at: "bigint",
  step: "bigint",
  ready: "boolean",
  traceparent: "text",
});

interface FinalRecord {
  record: Disbursement | Checkout;
  merchant: StoredMerchant;
}

/**
 * Writes the events of records that have become final, inside the transaction of that change. The transaction has the
 * merchants locked in `order`.
 */
export async function writeEvents(query: Query, records: readonly FinalRecord[]): Promise<void> {
  if (records.length === 0) return;
  const counts = new Map<string, number>();
  for (const { merchant } of records) counts.set(merchant.id, (counts.get(merchant.id) ?? 0) + 1);
  const { rows } = await query(
    `UPDATE merchants m SET last_event = m.last_event + n.count
     FROM ${unnested(["text", "bigint"])} AS n (merchant_id, count) WHERE m.id = n.merchant_id
     RETURNING m.id, m.last_event - n.count AS last_event, (SELECT l.url FROM listeners l
       WHERE l.merchant_id = m.id AND l.seen_real > :now - ${LISTENER_CONNECTED_MS}) AS listener_url`,
    [[...counts.keys()], [...counts.values()]],
  );
  const last = new Map(rows.map((row) => [row.id as string, row.last_event as number]));
  const listeners = new Map(rows.map((row) => [row.id as string, optional<string>(row.listener_url)]));
  const events = records.map(({ record, merchant }) => {
    const seq = last.get(merchant.id)! + 1;
    last.set(merchant.id, seq);
    return toEventRow({ record, merchant }, seq, listeners.get(merchant.id));
  });
  await insert(query, events);
}

function toEventRow({ record, merchant }: FinalRecord, seq: number, listenerUrl: string | undefined): Values {
  const { name, epoch } = merchant;
  const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, name);
  const destination = destinationOf(record, merchant, listenerUrl);
  const delivery: Values = destination
    ? { ...destination, status: "pending", next_attempt_at: createdAt, ready: "true" }
    : { ready: "false" };
  const event = { id, merchant_id: merchantId, epoch, seq, type, reference, created_at: createdAt, body, traceparent };
  return { ...event, step: 0, ...delivery };
}
