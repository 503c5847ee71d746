// Erases phone numbers of old records (D102).
import { withoutPhone } from "../../domain/events.ts";
import type { ErasureQuery } from "../../domain/storage.ts";
import { erasedPhone, textWithoutPhone } from "../../domain/redaction.ts";
import type { Row } from "../rows.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, runAll, type Query, type Work } from "./query.ts";

const OF_MERCHANT = "merchant_id = :merchant";
const KINDS = {
  disbursements: ["pending", "success", "failed"],
  checkouts: ["pending", "success", "failed", "cancelled"],
} as const;
type Kind = keyof typeof KINDS;

const READ_PLACE = `SELECT next_created_at FROM erasures WHERE ${OF_MERCHANT} AND kind = :kind`;
const STORE_PLACE = `INSERT INTO erasures (merchant_id, kind, next_created_at) VALUES (:merchant, :kind, :next)
  ON CONFLICT (merchant_id, kind) DO UPDATE SET next_created_at = :next`;
const WAIT = `INSERT INTO erasures_waiting (merchant_id, kind, merchants_reference)
  SELECT :merchant, :kind, given.waiting FROM :rows WHERE true ON CONFLICT DO NOTHING`;
const END_WAIT = `DELETE FROM erasures_waiting WHERE ${OF_MERCHANT} AND kind = :kind
  AND merchants_reference = ANY(:references::text[])`;

const COLUMNS = "merchants_reference, reference, phone_number, failure, status, created_at, updated_at";
/** The statement reads one range of the index for each status. */
const nextOf = (kind: Kind) =>
  KINDS[kind].map(
    (status) => `SELECT created_at FROM ${kind} WHERE ${OF_MERCHANT} AND status = '${status}' AND created_at >= :from
      AND created_at < :before ORDER BY created_at LIMIT :limit`,
  );
const rangeOf = (kind: Kind) =>
  KINDS[kind].map(
    (status) => `SELECT ${COLUMNS} FROM ${kind} WHERE ${OF_MERCHANT} AND status = '${status}' AND created_at >= :from
      AND created_at < :next`,
  );
const readyOf = (kind: Kind) => `SELECT ${COLUMNS.replaceAll(/\w+/g, "d.$&")} FROM erasures_waiting w
  JOIN ${kind} d ON d.merchant_id = w.merchant_id AND d.merchants_reference = w.merchants_reference
  WHERE w.merchant_id = :merchant AND w.kind = :kind AND d.status <> 'pending'
    AND d.updated_at < :before LIMIT :limit`;

const ERASE = (
  kind: Kind,
) => `UPDATE ${kind} AS d SET phone_number = given.phone, failure = given.failure_text FROM :rows
  WHERE d.merchant_id = :merchant AND d.merchants_reference = given.of_record`;

/** The texts of a record that may contain its phone number: the column, and the condition that finds the row. */
const TEXTS = [
  {
    table: "events",
    column: "body",
    key: "id",
    type: "text",
    record: "reference",
    hide: withoutPhone,
  },
  {
    table: "exchanges",
    column: "detail",
    key: "number",
    type: "bigint",
    record: "handover_id",
    hide: textWithoutPhone,
  },
  {
    table: "handovers",
    column: "conflict",
    key: "kind",
    type: "text",
    record: "id",
    hide: textWithoutPhone,
  },
] as const;
const READ_TEXTS: Query["text"][] = TEXTS.map(
  ({ table, column, key, record }) => `SELECT ${record} AS reference, ${key} AS key, ${column} AS text FROM ${table}
    WHERE ${OF_MERCHANT} AND ${record} = ANY(:references::text[]) AND ${column} IS NOT NULL`,
);
const STORE_TEXTS = TEXTS.map(
  ({ table, column, key, record }) => `UPDATE ${table} AS t SET ${column} = given.erased FROM :rows
    WHERE t.merchant_id = :merchant AND t.${record} = given.of_record AND t.${key} = given.of_key`,
);
/** A receiver's response may contain the number in any form. */
const FORGET_ANSWERS = `UPDATE attempts SET response_body = NULL
  WHERE ${OF_MERCHANT} AND event_id = ANY(:events::text[])`;

/** @returns the number of records whose phone number was erased, and whether there may be more to do */
export function* erasePhones({
  merchantId: merchant,
  before,
  limit,
}: ErasureQuery): Work<{ erased: number; isDone: boolean }> {
  yield* lockMerchant(merchant, "shares");
  let erased = 0;
  let isDone = true;
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const { rows: ready } = yield* run(readyOf(kind), { merchant, kind, before, limit });
    erased += yield* erase(merchant, kind, ready);
    const references = ready.map((row) => row.merchants_reference);
    yield* run(END_WAIT, { merchant, kind, references });

    const found = yield* nextRecords(merchant, kind, before, limit);
    const isOld = ({ status, updated_at: at }: Row) => status !== "pending" && (at as number) < before;
    erased += yield* erase(merchant, kind, found.rows.filter(isOld));
    const waiting = found.rows.filter((row) => !isOld(row)).map((row) => ({ waiting: row.merchants_reference }));
    const rows = { columns: { waiting: "text" }, values: waiting };
    if (waiting.length > 0) yield [{ text: WAIT, values: { merchant, kind }, rows }];
    isDone &&= found.isLast && ready.length < limit;
  }
  return { erased, isDone };
}

/** Reads about `limit` records that follow the records of earlier steps, and stores where the next step begins. */
function* nextRecords(
  merchant: string,
  kind: Kind,
  before: number,
  limit: number,
): Work<{ rows: Row[]; isLast: boolean }> {
  const { rows: stored } = yield* run(READ_PLACE, { merchant, kind });
  const from = (stored[0]?.next_created_at as number | undefined) ?? 0;
  const times = yield* runAll(nextOf(kind).map((text) => ({ text, values: { merchant, from, before, limit } })));
  const ends = times
    .filter(({ rows }) => rows.length === limit)
    .map(({ rows }) => (rows.at(-1)!.created_at as number) + 1);
  if (times.every(({ rows }) => rows.length === 0)) return { rows: [], isLast: true };
  // Records of one millisecond are taken together.
  const next = Math.min(before, ...ends);
  const found = yield* runAll(rangeOf(kind).map((text) => ({ text, values: { merchant, from, next } })));
  yield* run(STORE_PLACE, { merchant, kind, next });
  return { rows: found.flatMap(({ rows }) => rows), isLast: ends.length === 0 };
}

function* erase(merchant: string, kind: Kind, rows: readonly Row[]): Work<number> {
  const phones = new Map<string, string>();
  const references = new Map<string, string>();
  for (const { reference, merchants_reference: merchants, phone_number: phone } of rows as Record<string, string>[]) {
    if (phone === null || phone === undefined || phone === erasedPhone(phone)) continue;
    phones.set(reference!, phone);
    references.set(merchants!, reference!);
  }
  if (phones.size === 0) return 0;
  const values = rows
    .filter((row) => references.has(row.merchants_reference))
    .map(({ merchants_reference: merchants, reference, failure }) => ({
      of_record: merchants as string,
      phone: erasedPhone(phones.get(reference as string)!),
      failure_text: failure === null ? null : textWithoutPhone(failure as string, phones.get(reference as string)!),
    }));
  const columns = { of_record: "text", phone: "text", failure_text: "text" };
  yield [{ text: ERASE(kind), values: { merchant }, rows: { columns, values } }];

  const found = yield* runAll(
    READ_TEXTS.map((text) => ({ text, values: { merchant, references: [...phones.keys()] } })),
  );
  const changes = found.flatMap((result, index) => {
    const changed = result.rows
      .map((row) => ({ row, erased: TEXTS[index]!.hide(row.text, phones.get(row.reference)!) }))
      .filter(({ row, erased }) => erased !== row.text)
      .map(({ row, erased }) => ({ of_record: row.reference, of_key: row.key, erased }));
    const given = { of_record: "text", of_key: TEXTS[index]!.type, erased: "text" };
    return changed.length === 0
      ? []
      : [
          {
            text: STORE_TEXTS[index]!,
            values: { merchant },
            rows: { columns: given, values: changed },
          },
        ];
  });
  if (changes.length > 0) yield changes;
  const events = found[0]!.rows.map((row) => row.key);
  yield* run(FORGET_ANSWERS, { merchant, events });
  return phones.size;
}
