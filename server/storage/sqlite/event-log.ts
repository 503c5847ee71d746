import type { SQLInputValue } from "node:sqlite";
import type { DeliveryFilter, EventLog, Page, PageQuery } from "../../domain/storage.ts";
import type { Delivery } from "../../domain/types.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import type { Context, Row } from "./context.ts";
import { optional } from "../rows.ts";
import { toAttempt, toEvent } from "../event-rows.ts";

/** Except for `createdAfter`, each filter has an index that ends in `seq`, so that every page costs the same. */
const FILTERS = {
  reference: "reference = :reference",
  status: "status = :status",
  createdAfter: "created_at >= :createdAfter",
};
/** The condition of the index `deliveries_failed`. */
const FAILED = "status IN ('ended', 'exhausted')";

type Query = PageQuery & { status?: DeliveryFilter };

interface List {
  list: "events" | "deliveries";
  /** The condition that every entry meets. */
  base: string;
}

export function eventLog({ db, merchantOf }: Context): EventLog {
  const selectEvent = db.prepare("SELECT * FROM events WHERE id = ? AND url IS NOT NULL");
  const selectAttempts = db.prepare("SELECT * FROM attempts WHERE event_id = ? ORDER BY number");
  const prepared = new Map<string, ReturnType<typeof db.prepare>>();

  /** Returns a separate statement for each combination of filters and direction, so that each can use its index. */
  function statement(where: string[], direction: "older" | "newer") {
    const [before, order] = direction === "older" ? ["<", "DESC"] : [">", "ASC"];
    const sql = `SELECT * FROM events WHERE merchant_id = :merchant AND epoch = :epoch AND ${where.join(" AND ")}
      AND seq ${before} :seq ORDER BY seq ${order} LIMIT :limit`;
    const known = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, known);
    return known;
  }

  function page<T>(query: Query, { list, base }: List, map: (row: Row) => T): Page<T> {
    // SQLite commits one transaction at a time, so `seq` is the order of commits.
    const cursorAt = (row: Row) => sealCursor(list, query.merchantId, [row.seq as number]);
    const { merchantId, limit, cursor, direction = "older" } = query;
    const start = direction === "older" ? Number.MAX_SAFE_INTEGER : 0;
    const names = (Object.keys(FILTERS) as (keyof typeof FILTERS)[]).filter((name) => query[name] !== undefined);
    const isFailed = query.status === "failed";
    const values: Record<string, SQLInputValue> = {
      merchant: merchantId,
      epoch: merchantOf(merchantId)?.epoch ?? -1,
      seq: cursor === undefined ? start : openCursor(list, merchantId, cursor, 1)[0]!,
      // One extra row shows whether another page follows.
      limit: limit + 1,
    };
    for (const name of names) if (name !== "status" || !isFailed) values[name] = query[name]!;
    const conditions = names.map((name) => {
      const condition = name === "status" && isFailed ? FAILED : FILTERS[name];
      // Few events share a reference, but many share a status. The unary plus keeps SQLite from using an index by status.
      return name === "status" && query.reference !== undefined ? `+${condition}` : condition;
    });
    const found = statement([base, ...conditions], direction).all(values);
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const next = direction === "newer" ? (last ? cursorAt(last) : cursor) : found.length > limit && cursorAt(last!);
    return { items: rows.map(map), ...(next ? { cursor: next } : {}) };
  }

  function toDelivery(row: Row): Delivery {
    const nextAttemptAt = optional<number>(row.next_attempt_at);
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
      const row = selectEvent.get(id);
      const isCurrent = row?.merchant_id === merchantId && merchantOf(merchantId)?.epoch === row.epoch;
      return isCurrent ? toDelivery(row!) : undefined;
    },
    async listEvents(query) {
      return page(query, { list: "events", base: "TRUE" }, toEvent);
    },
    async listDeliveries(query) {
      return page(query, { list: "deliveries", base: "url IS NOT NULL" }, toDelivery);
    },
  };
}
