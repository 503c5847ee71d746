import type { Insertion } from "../../domain/records.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Row, Values } from "../rows.ts";
import { toValues } from "../record-rows.ts";
import { inserter, unnested, type Columns } from "./context.ts";
import type { Query } from "./database.ts";
import type { LockedMerchant } from "../portable/locked-merchant.ts";
import { byText } from "./record-columns.ts";

interface RecordTable<T> {
  table: "disbursements" | "checkouts";
  columns: Columns;
  toRecord(row: Row): T;
}

const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.epoch} ${row.merchants_reference}`;

/**
 * Returns a function that stores records unless their merchant's reference is in use (D4). It may be repeated with the
 * same records: one that exists already under its own id counts as inserted.
 */
export function recordInserter<T extends Disbursement | Checkout>({ table, columns, toRecord }: RecordTable<T>) {
  const insert = inserter(table, columns, "ON CONFLICT DO NOTHING RETURNING reference");
  const selectByReference = `SELECT r.* FROM ${unnested(["text", "bigint", "text"])}
      AS wanted (merchant_id, epoch, merchants_reference)
    CROSS JOIN LATERAL (SELECT * FROM ${table} r WHERE r.merchant_id = wanted.merchant_id AND r.epoch = wanted.epoch
      AND r.merchants_reference = wanted.merchants_reference LIMIT 1) AS r`;

  /** Finds the records that have the references of these. */
  async function existing(query: Query, rows: readonly Values[]): Promise<Map<string, T>> {
    if (rows.length === 0) return new Map();
    const keys = ["merchant_id", "epoch", "merchants_reference"].map((name) => rows.map((row) => row[name]));
    const found = await query(selectByReference, keys);
    return new Map(found.rows.map((row) => [keyOf(row), toRecord(row)]));
  }

  return async (query: Query, items: readonly { record: T; merchant: LockedMerchant }[]): Promise<Insertion<T>[]> => {
    const rows = items.map(({ record, merchant }) => toValues(record, merchant, merchant.dated - merchant.now));
    // Concurrent transactions insert in the same order, so that they cannot deadlock.
    const inserted = await insert(
      query,
      rows.toSorted((a, b) => byText(keyOf(a), keyOf(b))),
    );
    const references = new Set(inserted.rows.map(({ reference }) => reference));
    const others = await existing(
      query,
      rows.filter(({ reference }) => !references.has(reference)),
    );
    return items.map(({ record }, index) => {
      if (references.has(record.reference)) return { inserted: true, record };
      const found = others.get(keyOf(rows[index]!))!;
      return { inserted: found.id === record.id, record: found };
    });
  };
}
