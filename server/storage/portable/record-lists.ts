import type { Page } from "../../domain/pages.ts";
import type { Payment, RecordQuery } from "../../domain/records.ts";
import type { PaymentSearch } from "../../domain/storage.ts";
import { DAY_MS } from "../../domain/time.ts";
import { columnsOf } from "../schema.ts";
import { KINDS, RECORDS, toRecord, type RecordTable } from "../record-rows.ts";
import type { Row } from "../rows.ts";
import { cursorScope, placeOf, toPage } from "./pages.ts";
import { LAST, LEAST_UUID, mergedRanges, type Executor, type Query } from "./query.ts";

/** Records of the same millisecond are ordered by insertion in SQLite, and in PostgreSQL by their ids. */
const KEYS = {
  sqlite: { key: "rowid", least: 0, columns: "rowid, *" },
  postgres: { key: "id", least: LEAST_UUID, columns: "*" },
};

/** The day of a record, with which the indexes by phone number begin in SQLite. */
const DAY = `created_at / ${DAY_MS}`;

/**
 * In SQLite the table `days` of a statement: the days of `:from`, of `:created_at` and between on which any merchant has
 * records with phone numbers, newest first, after a day that has none. Each is found with one look into the index.
 */
const withDays = (table: string) => `WITH RECURSIVE days (day) AS (SELECT :created_at / ${DAY_MS} + 1 UNION ALL
  SELECT (SELECT max(${DAY}) FROM ${table} WHERE ${DAY} < day AND phone_number IS NOT NULL) FROM days
  WHERE day > :from / ${DAY_MS})`;

/** Returns a function that finds a merchant's record by the service's reference. */
export function recordFinder<T extends Payment>({ finder }: Pick<Executor, "finder">, { table }: RecordTable) {
  const select = `SELECT * FROM ${table} WHERE merchant_id = given.merchant_id AND reference = given.reference LIMIT 1`;
  const find = finder(select, columnsOf(table, ["merchant_id", "reference"]));
  return async (merchant_id: string, reference: string): Promise<T | undefined> => {
    const row = await find({ merchant_id, reference });
    return row && toRecord<T>(row);
  };
}

/** Returns a function that reads the pages of a list of records, newest first. */
export function recordList<T extends Payment>(executor: Executor, { table, statuses }: RecordTable) {
  const { database, read } = executor;
  const { key, least, columns } = KEYS[database];
  const ORDER = `ORDER BY created_at DESC, ${key} DESC`;
  const inRange = (condition: string) => `SELECT ${columns} FROM ${table} WHERE merchant_id = :merchant
    AND created_at >= :from AND (created_at, ${key}) < (:created_at, :${key}::uuid) AND ${condition}`;
  const few = (condition: string) => `${inRange(condition)} AND (:status::text IS NULL OR status = :status)`;
  const OF_PHONE = "phone_number = :phone";
  const DAYS = `${withDays(table)} SELECT day FROM days WHERE EXISTS (${few(`${OF_PHONE} AND ${DAY} = day`)})`;
  const OF_DAY = `${few(`${OF_PHONE} AND ${DAY} = :day`)} ${ORDER} LIMIT :limit`;

  async function readDays(values: NonNullable<Query["values"]>, most: number): Promise<Row[]> {
    const found: Row[] = [];
    for (const { day } of await read({ text: DAYS, values })) {
      if (found.length === most) break;
      found.push(...(await read({ text: OF_DAY, values: { ...values, day, limit: most - found.length } })));
    }
    return found;
  }

  function statement({ merchantsReference, phoneNumber, status }: RecordQuery): string {
    // At most one record has the reference.
    if (merchantsReference !== undefined) return `${few("merchants_reference = :reference")} LIMIT :limit`;
    if (phoneNumber !== undefined) return `${few(OF_PHONE)} ${ORDER} LIMIT :limit`;
    // The index has one range for each status, so a list of all statuses merges the ranges.
    const ranges = status === undefined ? statuses.map((each) => `'${each}'`) : [":status"];
    const selects = ranges.map((each) => inRange(`status = ${each}`));
    return mergedRanges(database, selects, ORDER, "LIMIT :limit");
  }

  return async (query: RecordQuery): Promise<Page<T>> => {
    const { merchantId: merchant, merchantsReference: reference, phoneNumber: phone, status } = query;
    const { createdAfter: from = 0, createdBefore = LAST } = query;
    const start = { created_at: createdBefore, [key]: least };
    const asked = { ...query, list: table, scope: await cursorScope(executor, merchant), start };
    const most = query.limit + 1;
    const values = { ...placeOf(asked), merchant, from, reference, phone, status, limit: most };
    const isByDay = database === "sqlite" && reference === undefined && phone !== undefined;
    const found = isByDay ? await readDays(values, most) : await read({ text: statement(query), values });
    return toPage(asked, found, toRecord<T>);
  };
}

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CURRENT = "r.merchant_id = m.id";
/** The statements read one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const ofMerchants = (table: string, condition: string) =>
  `SELECT r.* FROM merchants m CROSS JOIN ${table} r WHERE ${CURRENT} AND r.${condition}`;
/** In SQLite one range for each day. */
const ofDays = (table: string) => `${withDays(table)} SELECT r.* FROM days CROSS JOIN ${table} r CROSS JOIN merchants m
  WHERE r.${DAY} = day AND r.phone_number = :phone AND ${CURRENT}`;

const find = (table: string, ofPhone: string) =>
  [ofMerchants(table, "reference = :text"), ofMerchants(table, "merchants_reference = :text"), ofPhone]
    .map((select) => `SELECT * FROM (${select} LIMIT ${MOST}) AS found`)
    .join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

const FIND = KINDS.map((kind) => {
  const { table } = RECORDS[kind];
  return { sqlite: find(table, ofDays(table)), postgres: find(table, ofMerchants(table, "phone_number = :phone")) };
});

/** Searches the payments of all merchants. */
export const paymentSearch = ({ readAll }: Executor): PaymentSearch => ({
  async searchPayments({ text, phoneNumber: phone = "", limit }) {
    const values = { text, phone, from: 0, created_at: LAST, limit };
    const found = (await readAll(FIND.map((statement) => ({ text: statement, values })))).flat();
    return found.map(toRecord<Payment>).toSorted((a, b) => b.createdAt - a.createdAt);
  },
});
