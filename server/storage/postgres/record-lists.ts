import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import type { Row } from "../rows.ts";
import type { Context } from "./context.ts";
import { fromUuid, toUuid } from "../uuid.ts";

interface RecordTable<T> {
  table: "disbursements" | "checkouts";
  statuses: readonly string[];
  toRecord(row: Row): T;
}

/** Reads the pages of a list of records, newest first. Records of the same millisecond are ordered by id. */
export function recordList<T>({ db }: Context, { table, statuses, toRecord }: RecordTable<T>) {
  const order = "ORDER BY created_at DESC, id DESC LIMIT $6";
  const inRange = `merchant_id = $1 AND epoch = $2 AND created_at >= $3 AND (created_at, id) < ($4, $5::uuid)`;
  // The list of one status reads one range of an index, so the list of all statuses merges one range for each.
  const ofStatus = (condition: string) => `SELECT * FROM ${table} WHERE ${inRange} AND ${condition} ${order}`;
  const merged = (condition: string) => `SELECT * FROM (
    ${statuses.map((status) => `(${ofStatus(`status = '${status}' ${condition}`)})`).join(" UNION ALL ")}) AS merged ${order}`;
  const one = ofStatus("status = $7");
  const all = merged("");
  const onePhone = ofStatus("status = $7 AND phone_number = $8");
  const allPhone = merged("AND phone_number = $7");
  // One record at most has the reference.
  const ofReference = `SELECT * FROM ${table} WHERE ${inRange} AND merchants_reference = $7
    AND ($8::text IS NULL OR status = $8) LIMIT $6`;

  function select(query: RecordQuery, range: unknown[]) {
    const { merchantsReference: reference, phoneNumber: phone, status } = query;
    if (reference !== undefined) return db.read(ofReference, [...range, reference, status ?? null]);
    if (phone !== undefined) {
      return status === undefined ? db.read(allPhone, [...range, phone]) : db.read(onePhone, [...range, status, phone]);
    }
    return status === undefined ? db.read(all, range) : db.read(one, [...range, status]);
  }

  return async (query: RecordQuery): Promise<Page<T>> => {
    const { merchantId, limit } = query;
    const merchant = await db.read("SELECT epoch FROM merchants WHERE id = $1", [merchantId]);
    const epoch = (merchant.rows[0]?.epoch as number | undefined) ?? -1;
    const scope = `${merchantId} ${epoch}`;
    const position = query.cursor === undefined ? undefined : openCursor(table, scope, query.cursor, 4);
    // One extra row shows whether another page follows.
    const { rows: found } = await select(query, [merchantId, epoch, ...rangeOf(query, position), limit + 1]);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const cursor = last && sealCursor(table, scope, [last.created_at as number, ...fromUuid(last.id as string)]);
    return { items: rows.map(toRecord), ...(cursor === undefined ? {} : { cursor }) };
  };
}

/** Returns the bounds of a page. It has the records created before (`before`, `id`), and at or after `from`. */
function rangeOf({ createdAfter = 0, createdBefore = Number.MAX_SAFE_INTEGER }: RecordQuery, position?: number[]) {
  const [before, ...id] = position && position[0]! < createdBefore ? position : [createdBefore];
  return [createdAfter, before, toUuid(id)];
}
