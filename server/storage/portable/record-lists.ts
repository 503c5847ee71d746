import type { Page } from "../../domain/pages.ts";
import type { RecordQuery } from "../../domain/records.ts";
import { DAY_MS } from "../../domain/time.ts";
import { columnsOf } from "../columns.ts";
import { fromUuid, openCursor, sealCursor, toUuid } from "../cursor.ts";
import type { RecordTable } from "../record-rows.ts";
import type { Row } from "../rows.ts";
import { cursorScope, toPage } from "./pages.ts";
import { mergedRanges, type Executor, type QueryValue } from "./query.ts";

/**
 * Records of the same millisecond are ordered by insertion in SQLite, and in PostgreSQL by their ids: by the column `key`.
 * The position of a record in a cursor is `length` numbers: its time, then its key. An empty key sorts before every
 * other key.
 */
const ORDERS = {
  sqlite: {
    key: "rowid",
    columns: "rowid, *",
    length: 2,
    numbersOf: ({ rowid }: Row) => [rowid as number],
    keyOf: ([rowid = 0]: readonly number[]) => rowid,
  },
  postgres: {
    key: "id",
    columns: "*",
    length: 4,
    numbersOf: ({ id }: Row) => fromUuid(id as string),
    keyOf: toUuid,
  },
};

/** The day of a record, with which the indexes by phone number begin in SQLite. */
export const DAY = `created_at / ${DAY_MS}`;

/**
 * In SQLite the table `days` of a statement: the days of `:from`, of `:before` and between on which any merchant has
 * records with phone numbers, newest first, after a day that has none. Each is found with one look into the index.
 */
export const withDays = (table: string) => `WITH RECURSIVE days (day) AS (SELECT :before / ${DAY_MS} + 1 UNION ALL
  SELECT (SELECT max(${DAY}) FROM ${table} WHERE ${DAY} < day AND phone_number IS NOT NULL) FROM days
  WHERE day > :from / ${DAY_MS})`;

const REFERENCE = columnsOf("disbursements", ["merchant_id", "reference"]);

/** Returns a function that finds a merchant's record by the service's reference. */
export function recordFinder<T>({ finder }: Pick<Executor, "finder">, { table, toRecord }: RecordTable<T>) {
  const select = `SELECT * FROM ${table} WHERE merchant_id = given.merchant_id AND reference = given.reference LIMIT 1`;
  const find = finder(select, REFERENCE);
  return async (merchant_id: string, reference: string): Promise<T | undefined> => {
    const row = await find({ merchant_id, reference });
    return row && toRecord(row);
  };
}

/** Returns a function that reads the pages of a list of records, newest first. */
export function recordList<T>(executor: Executor, { table, statuses, toRecord }: RecordTable<T>) {
  const { database, read } = executor;
  const { key, columns, length, numbersOf, keyOf } = ORDERS[database];
  const IN_RANGE = `merchant_id = :merchant AND created_at >= :from
    AND (created_at, ${key}) < (:before, :key::uuid)`;
  const ORDER = `ORDER BY created_at DESC, ${key} DESC`;

  const inRange = (condition: string) => `SELECT ${columns} FROM ${table} WHERE ${IN_RANGE} AND ${condition}`;
  const few = (condition: string) => `${inRange(condition)} AND (:status::text IS NULL OR status = :status)`;
  const ofStatus = (status: string) => inRange(`status = ${status}`);
  const OF_PHONE = "phone_number = :phone";
  const OF_PHONE_AND_DAY = `${few(`${OF_PHONE} AND ${DAY} = :day`)} ${ORDER} LIMIT :limit`;
  const daysWith = (select: string) => `${withDays(table)} SELECT day FROM days WHERE EXISTS (${select})`;
  const DAYS_OF_PHONE = daysWith(inRange(`${OF_PHONE} AND ${DAY} = day`));
  const DAYS_OF_PHONE_AND_STATUS = daysWith(few(`${OF_PHONE} AND ${DAY} = day`));

  async function readDays(values: { [name: string]: QueryValue; limit: number }): Promise<Row[]> {
    const found: Row[] = [];
    // Without a status, the days are found in the index alone.
    const text = values.status === null ? DAYS_OF_PHONE : DAYS_OF_PHONE_AND_STATUS;
    for (const { day } of await read({ text, values })) {
      const limit = values.limit - found.length;
      if (limit === 0) break;
      found.push(...(await read({ text: OF_PHONE_AND_DAY, values: { ...values, day: day as number, limit } })));
    }
    return found;
  }

  function statement({ merchantsReference, phoneNumber, status }: RecordQuery): string {
    // At most one record has the reference.
    if (merchantsReference !== undefined) return `${few("merchants_reference = :reference")} LIMIT :limit`;
    if (phoneNumber !== undefined) return `${few(OF_PHONE)} ${ORDER} LIMIT :limit`;
    // The index has one range for each status, so a list of all statuses merges the ranges.
    const ranges = status === undefined ? statuses.map((each) => `'${each}'`) : [":status"];
    return mergedRanges(database, ranges.map(ofStatus), ORDER, "LIMIT :limit");
  }

  return async (query: RecordQuery): Promise<Page<T>> => {
    const { merchantId, merchantsReference, phoneNumber, status = null, limit, cursor } = query;
    const { createdAfter = 0, createdBefore = Number.MAX_SAFE_INTEGER } = query;
    const scope = await cursorScope(executor, merchantId);
    const position = cursor === undefined ? undefined : openCursor(table, scope, cursor, length);
    const [before, ...numbers] = position && position[0]! < createdBefore ? position : [createdBefore];
    const range = { merchant: merchantId, from: createdAfter, before: before!, key: keyOf(numbers) };
    const which = { reference: merchantsReference ?? null, phone: phoneNumber ?? null, status };
    const values = { ...range, ...which, limit: limit + 1 };
    const isByDay = database === "sqlite" && merchantsReference === undefined && phoneNumber !== undefined;
    const found = isByDay ? await readDays(values) : await read({ text: statement(query), values });
    return toPage(found, limit, toRecord, (last) =>
      sealCursor(table, scope, [last.created_at as number, ...numbersOf(last)]),
    );
  };
}
