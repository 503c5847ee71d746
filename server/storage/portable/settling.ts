import type { ClockStore } from "../../domain/storage.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import type { Failure, FinalStatus } from "../../domain/records.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import { columnsOf } from "../columns.ts";
import { failureValue, KINDS, RECORDS, settledReport, type Kind } from "../record-rows.ts";
import type { Row } from "../rows.ts";
import { ended, openQuery, toBooks } from "./booking.ts";
import { eventValues, type FinalRecord } from "./event-rows.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { insertRows, runAll, type Executor, type Query, type Work } from "./query.ts";

const TABLES = Object.values(RECORDS);

const findDue = (which: string) =>
  TABLES.map(
    ({ table }) => `SELECT * FROM (SELECT '${table}' AS kind, merchant_id, reference, due_at FROM ${table}
      WHERE ${which} due_at <= (SELECT :now) ORDER BY due_at LIMIT :limit) AS found`,
  ).join(" UNION ALL ");
const FIND_ALL = findDue("");
const FIND_OF_MERCHANT = findDue("merchant_id = :merchant AND");

/** Leaves out records that have been settled or postponed since they were found. */
const SETTLE = (table: string) => `UPDATE ${table} AS r SET status = due_status,
    updated_at = greatest(updated_at, given.settled_at), due_at = NULL, due_status = NULL
  FROM :rows WHERE r.merchant_id = given.merchant_id AND r.reference = given.reference AND r.due_at = given.was_due
  RETURNING *`;
const SETTLED = {
  ...columnsOf("disbursements", ["merchant_id", "reference"]),
  was_due: "bigint",
  settled_at: "bigint",
};

/**
 * In PostgreSQL each merchant's events have consecutive positions, because its processes share no other counter. SQLite
 * gives them when it inserts.
 */
const NUMBER = {
  sqlite: "SELECT given.merchant_id AS id, NULL AS last_event",
  postgres: `UPDATE merchants AS m SET last_event = m.last_event + given.count FROM :rows WHERE m.id = given.merchant_id
    RETURNING m.id, m.last_event - given.count AS last_event`,
};
const COUNTS = { merchant_id: "text", count: "bigint" };

/**
 * Writes the events of records that have become final, and books their ends, inside the transaction of that change. The
 * transaction has the merchants locked in `order`.
 */
export function* writeEvents(records: readonly FinalRecord[]): Work<void> {
  if (records.length === 0) return;
  const byMerchant = Map.groupBy(records, ({ merchant }) => merchant.id);
  const counts = [...byMerchant].map(([id, { length }]) => ({ merchant_id: id, count: length }));
  const entries = records.flatMap(({ record, merchant }) => ended(record, merchant));
  const [numbered, opened] = yield [{ text: NUMBER, rows: { columns: COUNTS, values: counts } }, openQuery(entries)];
  const events = numbered!.rows.flatMap(({ id, last_event: last }) =>
    byMerchant
      .get(id)!
      .map((final, index) => ({ ...eventValues(final), seq: last === null ? null : last + index + 1 })),
  );
  const books = toBooks(opened!);
  entries.forEach(books.add);
  yield [insertRows("events", events), ...books.queries()];
}

const SOON = { commit: "writeSoon", repeatable: true, isAside: true } as const;

/** Gives due records their final status and writes their events. */
export function settler({ read, write, emit }: Executor): Pick<ClockStore, "settleDue"> {
  return {
    async settleDue(limit, merchant) {
      const text = merchant === undefined ? FIND_ALL : FIND_OF_MERCHANT;
      const found = await read({ text, values: { limit, merchant: merchant ?? null } });
      // Usually nothing is due. Avoid a transaction then.
      if (found.length === 0) return 0;
      const due = found.toSorted((a, b) => a.due_at - b.due_at).slice(0, limit);
      // Processes share the work: each leaves out the merchants on which another is working.
      const work = () => settle(due, { wait: merchant !== undefined });
      const settled = await write(work, { ...SOON, items: due.length });
      for (const each of settled) emit("settled", each);
      return settled.length;
    },
  };
}

/** @param due the records, as they were before their merchants were locked */
function* settle(due: readonly Row[], options: { wait: boolean }): Work<RecordSettled[]> {
  const ids = due.map((row) => row.merchant_id);
  const merchants = yield* lockMerchants(ids, "orders", options);
  const mine = due.flatMap(({ kind, merchant_id, reference, due_at: was_due }) => {
    const merchant = merchants.get(merchant_id);
    if (!merchant) return [];
    const dueAt = sandboxTime(merchant, was_due);
    const settled_at = happensAt(merchant, dueAt, merchant.now);
    return [{ kind, merchant, delay: settled_at - dueAt, row: { merchant_id, reference, was_due, settled_at } }];
  });
  const results = yield* runAll(
    TABLES.map(({ table }) => {
      const values = mine.filter(({ kind }) => kind === table).map(({ row }) => row);
      return { text: SETTLE(table), rows: { columns: SETTLED, values } };
    }),
  );
  const records = new Map(
    TABLES.flatMap(({ toRecord }, index) => results[index]!.rows.map((row) => [row.reference, toRecord(row)] as const)),
  );
  const settled = mine.flatMap(({ row, merchant, delay }) => {
    const record = records.get(row.reference);
    return record ? [{ record, merchant, report: settledReport(record, delay) }] : [];
  });
  yield* writeEvents(settled);
  return settled.map(({ report }) => report);
}

const END = (kind: Kind) => `UPDATE ${RECORDS[kind].table} AS r SET status = given.status, failure = given.failure,
    due_at = NULL, due_status = NULL, ${kind === "disbursement" ? "approval = NULL," : ""}
    updated_at = greatest(r.updated_at, given.at) FROM :rows
  WHERE r.merchant_id = given.merchant_id AND r.reference = given.reference AND r.status = 'pending' RETURNING *`;
const ENDS = { ...columnsOf("checkouts", ["merchant_id", "reference", "status", "failure"]), at: "bigint" };
const STATUS = (kind: Kind) => `SELECT reference, status FROM ${RECORDS[kind].table}
  WHERE merchant_id = ANY(:merchants::text[]) AND reference = ANY(:references::text[])`;

/** The end of a record of a locked merchant. */
export interface End {
  kind: Kind;
  reference: string;
  merchant: LockedMerchant;
  status: FinalStatus;
  failure?: Failure | undefined;
}

/**
 * Gives pending records their final status and writes their events. Returns the statuses of the records that were final
 * before, by reference. The merchants are locked in `order`.
 */
export function* settleAll(ends: readonly End[]): Work<Map<string, FinalStatus>> {
  if (ends.length === 0) return new Map();
  const queries = KINDS.map((kind): Query => {
    const values = ends
      .filter((end) => end.kind === kind)
      .map(({ reference, merchant, status, failure }) => ({
        merchant_id: merchant.id,
        reference,
        status,
        failure: failureValue(failure),
        at: sandboxTime(merchant, merchant.now),
      }));
    return { text: END(kind), rows: { columns: ENDS, values } };
  });
  const settled = new Map((yield* runAll(queries)).flatMap(({ rows }) => rows).map((row) => [row.reference, row]));
  const isSettled = ({ reference }: End) => settled.has(reference);
  yield* writeEvents(
    ends
      .filter(isSettled)
      .map(({ kind, reference, merchant }) => ({ record: RECORDS[kind].toRecord(settled.get(reference)!), merchant })),
  );
  const others = ends.filter((end) => !isSettled(end));
  if (others.length === 0) return new Map();
  const merchants = [...new Set(others.map(({ merchant }) => merchant.id))];
  const values = { merchants, references: others.map(({ reference }) => reference) };
  const statuses = yield* runAll(KINDS.map((kind) => ({ text: STATUS(kind), values })));
  return new Map(statuses.flatMap(({ rows }) => rows).map((row) => [row.reference, row.status]));
}
