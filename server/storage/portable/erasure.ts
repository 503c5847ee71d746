// Erases phone numbers of old records (D102).
import { withoutPhone } from "../../domain/events.ts";
import { erasedPhone, textWithoutPhone } from "../../domain/redaction.ts";
import type { RetentionQuery } from "../../domain/storage.ts";
import { RECORDS } from "../rows.ts";
import type { Row } from "../rows.ts";
import type { StoredAttempt } from "./events.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { insertNew, run, runAll, updateRows, type Query, type Work } from "./query.ts";

const OF_MERCHANT = "merchant_id = :merchant";
type Records = (typeof RECORDS)[keyof typeof RECORDS];

const READ_PLACE = `SELECT next_created_at FROM erasures WHERE ${OF_MERCHANT} AND kind = :kind`;
const STORE_PLACE = `INSERT INTO erasures (merchant_id, kind, next_created_at) VALUES (:merchant, :kind, :next)
  ON CONFLICT (merchant_id, kind) DO UPDATE SET next_created_at = :next`;
const END_WAIT = `DELETE FROM erasures_waiting WHERE ${OF_MERCHANT} AND kind = :kind
  AND merchants_reference = ANY(:references::text[])`;

const COLUMNS = "merchants_reference, reference, phone_number, failure, status, created_at, updated_at";
/** The statement reads one range of the index for each status. */
const ranges = ({ table, statuses }: Records, columns: string, end: string) =>
  statuses.map(
    (status) => `SELECT ${columns} FROM ${table} WHERE ${OF_MERCHANT} AND status = '${status}' AND created_at >= :from
      AND created_at < ${end}`,
  );
const nextOf = (records: Records) => ranges(records, "created_at", ":before ORDER BY created_at LIMIT :limit");
const rangeOf = (records: Records) => ranges(records, COLUMNS, ":next");
const readyOf = ({ table }: Records) => `SELECT ${COLUMNS.replaceAll(/\w+/g, "d.$&")} FROM erasures_waiting w
  JOIN ${table} d ON d.merchant_id = w.merchant_id AND d.merchants_reference = w.merchants_reference
  WHERE w.merchant_id = :merchant AND w.kind = :kind AND d.status <> 'pending'
    AND d.updated_at < :before LIMIT :limit`;

/** A receiver's response may contain the number in any form. */
const withoutAnswers = (attempts: string) =>
  JSON.stringify((JSON.parse(attempts) as StoredAttempt[]).map((attempt) => ({ ...attempt, responseBody: undefined })));

/** The texts of a record that may contain its phone number: the column, and those that find the row. */
const TEXTS = [
  { table: "events", column: "body", record: "reference", key: "id", hide: withoutPhone },
  { table: "events", column: "attempts", record: "reference", key: "id", hide: withoutAnswers },
  { table: "handovers", column: "exchanges", record: "id", key: "kind", hide: textWithoutPhone },
  { table: "handovers", column: "conflict", record: "id", key: "kind", hide: textWithoutPhone },
] as const;
const READ_TEXTS = TEXTS.map(
  ({ table, column, key, record }) => `SELECT merchant_id, ${record}, ${key}, ${column} FROM ${table}
    WHERE ${OF_MERCHANT} AND ${record} = ANY(:references::text[]) AND ${column} IS NOT NULL FOR UPDATE`,
);

export function* erasePhones({ merchantId: merchant, before, limit }: RetentionQuery): Work<boolean> {
  yield* lockMerchant(merchant, "shares");
  let mayBeMore = false;
  for (const records of Object.values(RECORDS)) {
    const kind = records.table;
    const { rows: ready } = yield* run(readyOf(records), { merchant, kind, before, limit });
    yield* erase(merchant, kind, ready);
    const references = ready.map((row) => row.merchants_reference);
    yield* run(END_WAIT, { merchant, kind, references });

    const found = yield* nextRecords(merchant, records, before, limit);
    const isOld = ({ status, updated_at: at }: Row) => status !== "pending" && at < before;
    yield* erase(merchant, kind, found.rows.filter(isOld));
    const waiting = found.rows
      .filter((row) => !isOld(row))
      .map((row) => ({ merchant_id: merchant, kind, merchants_reference: row.merchants_reference }));
    yield [insertNew("erasures_waiting", waiting)];
    mayBeMore ||= !found.isLast || ready.length === limit;
  }
  return mayBeMore;
}

/** Reads about `limit` records that follow the records of earlier steps, and stores where the next step begins. */
function* nextRecords(
  merchant: string,
  records: Records,
  before: number,
  limit: number,
): Work<{ rows: Row[]; isLast: boolean }> {
  const kind = records.table;
  const { rows: stored } = yield* run(READ_PLACE, { merchant, kind });
  const from = stored[0]?.next_created_at ?? 0;
  const times = yield* runAll(nextOf(records).map((text) => ({ text, values: { merchant, from, before, limit } })));
  if (times.every(({ rows }) => rows.length === 0)) return { rows: [], isLast: true };
  const ends = times.filter(({ rows }) => rows.length === limit).map(({ rows }) => rows.at(-1)!.created_at + 1);
  // Records of one millisecond are taken together.
  const next = Math.min(before, ...ends);
  const found = yield* runAll(rangeOf(records).map((text) => ({ text, values: { merchant, from, next } })));
  yield* run(STORE_PLACE, { merchant, kind, next });
  return { rows: found.flatMap(({ rows }) => rows), isLast: ends.length === 0 };
}

/** Erases the phone numbers of records. */
function* erase(merchant: string, recordTable: string, rows: readonly Row[]): Work<void> {
  const records = rows.filter(({ phone_number: phone }) => phone !== null && phone !== erasedPhone(phone));
  if (records.length === 0) return;
  const phones = new Map<string, string>(records.map((row) => [row.reference, row.phone_number]));
  const values = records.map(({ merchants_reference: reference, phone_number: phone, failure }) => ({
    merchant_id: merchant,
    merchants_reference: reference,
    phone_number: erasedPhone(phone),
    failure: failure === null ? null : textWithoutPhone(failure, phone),
  }));
  yield [updateRows(recordTable, ["merchant_id", "merchants_reference"], values)];

  const references = [...phones.keys()];
  const found = yield* runAll(READ_TEXTS.map((text) => ({ text, values: { merchant, references } })));
  yield* runAll(
    TEXTS.map(({ table, column, record, key, hide }, index): Query => {
      const hidden = found[index]!.rows.map((row) => ({
        ...row,
        [column]: hide(row[column], phones.get(row[record])!),
      }));
      return updateRows(table, ["merchant_id", record, key], hidden);
    }),
  );
}
