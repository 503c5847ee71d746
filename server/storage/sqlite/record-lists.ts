import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import type { Context, Row } from "./context.ts";

interface RecordTable<T> {
  table: "disbursements" | "checkouts";
  statuses: readonly string[];
  toRecord(row: Row): T;
}

/** Reads the pages of a list of records, newest first. Records of the same millisecond are ordered by insertion. */
export function recordList<T>({ db, merchantOf }: Pick<Context, "db" | "merchantOf">, of: RecordTable<T>) {
  const { table, statuses, toRecord } = of;
  const inRange = "created_at >= :from AND (created_at, rowid) < (:before, :row)";
  const ofStatus = db.prepare(
    `SELECT rowid, * FROM ${table} WHERE merchant_id = :merchant AND epoch = :epoch AND status = :status AND ${inRange}
     ORDER BY created_at DESC, rowid DESC LIMIT :limit`,
  );
  // Without statistics SQLite would rather use the index by status, which it would read from end to end.
  const ofPhone = db.prepare(
    `SELECT rowid, * FROM ${table} INDEXED BY ${table}_by_phone WHERE merchant_id = :merchant AND epoch = :epoch AND phone_number = :phone
     AND status = :status AND ${inRange} ORDER BY created_at DESC, rowid DESC LIMIT :limit`,
  );
  const ofReference = db.prepare(
    `SELECT rowid, * FROM ${table} WHERE merchant_id = :merchant AND epoch = :epoch AND merchants_reference = :reference
     AND status = :status AND ${inRange} LIMIT :limit`,
  );

  function rowsOf({ merchantsReference: reference, phoneNumber: phone }: RecordQuery, values: Range): Row[] {
    if (reference !== undefined) return ofReference.all({ ...values, reference });
    return phone === undefined ? ofStatus.all(values) : ofPhone.all({ ...values, phone });
  }

  return (query: RecordQuery): Page<T> => {
    const { merchantId, limit } = query;
    const epoch = merchantOf(merchantId)?.epoch ?? -1;
    const scope = `${merchantId} ${epoch}`;
    const values = {
      merchant: merchantId,
      epoch,
      ...range(query, query.cursor === undefined ? undefined : openCursor(table, scope, query.cursor, 2)),
      // One extra row shows whether another page follows.
      limit: limit + 1,
    };
    const wanted = query.status === undefined ? statuses : [query.status];
    const found = wanted.flatMap((status) => rowsOf(query, { ...values, status }));
    const rows = found.toSorted(newestFirst).slice(0, limit);
    const last = rows.at(-1);
    const cursor = found.length > limit && last ? sealCursor(table, scope, positionOf(last)) : undefined;
    return { items: rows.map(toRecord), ...(cursor === undefined ? {} : { cursor }) };
  };
}

/** The values that every statement has. */
type Range = Record<string, string | number>;

const positionOf = (row: Row): [createdAt: number, row: number] => [row.created_at as number, row.rowid as number];

function newestFirst(a: Row, b: Row): number {
  const [[atA, rowA], [atB, rowB]] = [positionOf(a), positionOf(b)];
  return atB - atA || rowB - rowA;
}

/** Returns the bounds of a page. It has the records created before (`before`, `row`), and at or after `from`. */
function range({ createdAfter = 0, createdBefore }: RecordQuery, position?: number[]) {
  // Row numbers start at 1, so row 0 excludes all records that were created at `createdBefore`.
  const end = createdBefore === undefined ? [Number.MAX_SAFE_INTEGER, 0] : [createdBefore, 0];
  const [before, row] = position && position[0]! < end[0]! ? position : end;
  return { from: createdAfter, before: before!, row: row! };
}
