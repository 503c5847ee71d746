import type { DeliveryFilter, EventLog, Page, PageQuery } from "../../domain/storage.ts";
import type { Delivery } from "../../domain/types.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import { toAttempt, toEvent } from "../event-rows.ts";
import { optional, type Row } from "../rows.ts";
import type { Context } from "./context.ts";

type Query = PageQuery & { status?: DeliveryFilter };

interface List {
  list: "events" | "deliveries";
  /** The condition that every entry meets. */
  base: string;
}

/** Each combination of filters and direction is a separate statement, so that each can use its index. */
function select(query: Query, base: string, position: number): [sql: string, values: unknown[]] {
  const { merchantId, limit, reference, createdAfter, status, direction } = query;
  // One extra row shows whether another page follows.
  const values: unknown[] = [merchantId, position, limit + 1];
  const conditions = ["merchant_id = $1", "epoch = (SELECT epoch FROM merchants WHERE id = $1)", base];
  const add = (condition: string, value: unknown) => conditions.push(`${condition} $${values.push(value)}`);
  if (reference !== undefined) add("reference =", reference);
  if (createdAfter !== undefined) add("created_at >=", createdAfter);
  if (status === "failed") conditions.push("status IN ('ended', 'exhausted')");
  else if (status !== undefined) add("status =", status);
  const [before, order] = direction === "newer" ? [">", "ASC"] : ["<", "DESC"];
  const where = conditions.join(" AND ");
  return [`SELECT * FROM events WHERE ${where} AND seq ${before} $2 ORDER BY seq ${order} LIMIT $3`, values];
}

export function eventLog({ db }: Context): EventLog {
  async function page(query: Query, { list, base }: List): Promise<Page<Row>> {
    // The positions of a merchant's events are in the order of commits.
    const cursorAt = (row: Row) => sealCursor(list, query.merchantId, [row.seq as number]);
    const { merchantId, limit, cursor, direction = "older" } = query;
    const start = direction === "older" ? Number.MAX_SAFE_INTEGER : 0;
    const position = cursor === undefined ? start : openCursor(list, merchantId, cursor, 1)[0]!;
    const { rows: found } = await db.read(...select(query, base, position));
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const next = direction === "newer" ? (last ? cursorAt(last) : cursor) : found.length > limit && cursorAt(last!);
    return { items: rows, ...(next ? { cursor: next } : {}) };
  }

  /** Adds the attempts of deliveries of one merchant. */
  async function toDeliveries(merchantId: string, rows: readonly Row[]): Promise<Delivery[]> {
    const found = await db.read(
      "SELECT * FROM attempts WHERE merchant_id = $1 AND event_id = ANY($2::text[]) ORDER BY event_id, number",
      [merchantId, rows.map(({ id }) => id)],
    );
    const attempts = Map.groupBy(found.rows, ({ event_id }) => event_id);
    return rows.map((row) => toDelivery(row, attempts.get(row.id) ?? []));
  }

  return {
    async findDelivery(merchantId, id) {
      const { rows } = await db.read(
        `SELECT e.* FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
         WHERE e.merchant_id = $1 AND e.id = $2 AND e.url IS NOT NULL`,
        [merchantId, id],
      );
      return (await toDeliveries(merchantId, rows))[0];
    },
    async listEvents(query) {
      const { items, ...rest } = await page(query, { list: "events", base: "TRUE" });
      return { ...rest, items: items.map(toEvent) };
    },
    async listDeliveries(query) {
      const { items, ...rest } = await page(query, { list: "deliveries", base: "url IS NOT NULL" });
      return { ...rest, items: await toDeliveries(query.merchantId, items) };
    },
  };
}

function toDelivery(row: Row, attempts: readonly Row[]): Delivery {
  const nextAttemptAt = optional<number>(row.next_attempt_at);
  return {
    ...toEvent(row),
    url: row.url as string,
    status: row.status as Delivery["status"],
    step: row.step as number,
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
    attempts: attempts.map(toAttempt),
  };
}
