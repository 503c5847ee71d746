import { eventOf, receiverOf } from "../../domain/events.ts";
import type { Checkout, Disbursement } from "../../domain/types.ts";
import type { StoredMerchant, Values } from "../rows.ts";
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
     RETURNING m.id, m.last_event - n.count AS last_event`,
    [[...counts.keys()], [...counts.values()]],
  );
  const last = new Map(rows.map((row) => [row.id as string, row.last_event as number]));
  const events = records.map(({ record, merchant }) => {
    const seq = last.get(merchant.id)! + 1;
    last.set(merchant.id, seq);
    return toEventRow(record, merchant, seq);
  });
  await insert(query, events);
}

function toEventRow(record: Disbursement | Checkout, { name, epoch, webhookUrl }: StoredMerchant, seq: number): Values {
  const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, name);
  const url = record.webhookURL ?? webhookUrl;
  const delivery: Values =
    url === undefined
      ? { ready: "false" }
      : { url, host: receiverOf(url), status: "pending", next_attempt_at: createdAt, ready: "true" };
  const event = { id, merchant_id: merchantId, epoch, seq, type, reference, created_at: createdAt, body, traceparent };
  return { ...event, step: 0, ...delivery };
}
