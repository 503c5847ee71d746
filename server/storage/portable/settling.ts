import type { Failure, FinalStatus, Payment } from "../../domain/records.ts";
import { destinationOf, eventOf } from "../../domain/events.ts";
import type { ClockStore } from "../../domain/storage.ts";
import type { RecordSettled } from "../../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import { failureValue, KINDS, RECORDS, toRecord, type Kind } from "../record-rows.ts";
import type { StoredMerchant, Values } from "../rows.ts";
import { ended, openQuery, toBooks } from "./booking.ts";
import { lockMerchants, type LockedMerchant } from "./locked-merchant.ts";
import { given, insertRows, run, runAll, type Executor, type Query, type Work } from "./query.ts";

/** A record that has become final, and its merchant. */
interface FinalRecord {
  record: Payment;
  merchant: StoredMerchant;
}

/** Returns the row of the event of a record that has become final. */
function eventValues({ record, merchant }: FinalRecord) {
  const { id, merchantId, type, reference, createdAt, body } = eventOf(record, merchant.name);
  const destination = destinationOf(record, merchant);
  return {
    id,
    merchant_id: merchantId,
    type,
    reference,
    created_at: createdAt,
    body,
    url: destination?.url ?? null,
    host: destination?.host ?? null,
    status: destination ? "pending" : null,
    next_attempt_at: destination ? createdAt - merchant.clockOffset : null,
    ready: destination ? 1 : 0,
  } satisfies Values;
}

const findDue = (which: string) =>
  KINDS.map(
    (kind) => `SELECT * FROM (SELECT '${kind}' AS kind, merchant_id, reference, due_at, due_status, failure
      FROM ${RECORDS[kind].table} WHERE ${which} due_at <= (SELECT :now) ORDER BY due_at LIMIT :limit) AS found`,
  ).join(" UNION ALL ");
const FIND_ALL = findDue("");
const FIND_OF_MERCHANT = findDue("merchant_id = :merchant AND");

/** Leaves out records that are final, or whose time has changed since they were found. */
const END = (kind: Kind) => `UPDATE ${RECORDS[kind].table} AS r SET status = given.status, failure = given.failure,
    due_at = NULL, due_status = NULL, updated_at = greatest(r.updated_at, given.at)
  FROM :rows WHERE r.merchant_id = given.merchant_id AND r.reference = given.reference AND r.status = 'pending'
    AND (given.was_due IS NULL OR (r.due_at = given.was_due AND r.due_status = given.status)) RETURNING *`;

/**
 * In PostgreSQL each merchant's events have consecutive positions, because its processes share no other counter. SQLite
 * gives them when it inserts.
 */
const NUMBER = {
  sqlite: "SELECT given.id AS id, NULL AS last_event",
  postgres: `UPDATE merchants AS m SET last_event = m.last_event + given.count FROM :rows WHERE m.id = given.id
    RETURNING m.id, m.last_event - given.count AS last_event`,
};

/**
 * Writes the events of records that have become final, and books their ends, inside the transaction of that change. The
 * transaction has the merchants locked in `order`.
 */
export function* writeEvents(records: readonly FinalRecord[]): Work<void> {
  if (records.length === 0) return;
  const byMerchant = Map.groupBy(records, ({ merchant }) => merchant.id);
  const counts = [...byMerchant].map(([id, { length }]) => ({ id, count: length }));
  const entries = records.flatMap(({ record, merchant }) => ended(record, merchant));
  const [numbered, opened] = yield [{ text: NUMBER, rows: given("merchants", counts) }, openQuery(entries)];
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
      const find = { text, values: { limit, merchant: merchant ?? null } };
      // Usually nothing is due. Avoid a transaction then.
      const { length } = await read(find);
      if (length === 0) return 0;
      // Processes share the work: each leaves out the merchants on which another is working.
      const work = () => settle(find, limit, { wait: merchant !== undefined });
      const settled = await write(work, SOON);
      for (const each of settled) emit("settled", each);
      return settled.length;
    },
  };
}

/** @param find finds the records again, because another call may have settled them meanwhile */
function* settle(find: Query, limit: number, options: { wait: boolean }): Work<RecordSettled[]> {
  const { rows } = yield* run(find.text, find.values);
  const due = rows.toSorted((a, b) => a.due_at - b.due_at).slice(0, limit);
  const ids = due.map((row) => row.merchant_id);
  const merchants = yield* lockMerchants(ids, "orders", options);
  const mine = due.flatMap(({ kind, merchant_id, reference, due_at: wasDue, due_status: status, failure }) => {
    const merchant = merchants.get(merchant_id);
    if (!merchant) return [];
    const dueAt = sandboxTime(merchant, wasDue);
    const at = happensAt(merchant, dueAt, merchant.now);
    return [{ kind, reference, merchant, status, failure, wasDue, at, delay: at - dueAt }];
  });
  return (yield* endAll(mine)).map(({ record: { merchantId }, delay: delayMs }) => ({
    merchantId,
    delayMs,
  }));
}

/** The end of a record of a locked merchant. */
interface End {
  kind: Kind;
  reference: string;
  merchant: LockedMerchant;
  status: FinalStatus;
  /** As it is stored. */
  failure: string | null;
  /** When a record was due that ends because it is due. */
  wasDue?: number;
  /** In sandbox time. */
  at: number;
}

/** Gives pending records their final status and writes their events. Returns the records that were pending. */
function* endAll<T extends End>(ends: readonly T[]): Work<(T & FinalRecord)[]> {
  const results = yield* runAll(
    KINDS.map((kind): Query => {
      const values = ends
        .filter((end) => end.kind === kind)
        .map(({ reference, merchant, status, failure, at, wasDue }) => ({
          merchant_id: merchant.id,
          reference,
          status,
          failure,
          at,
          was_due: wasDue ?? null,
        }));
      return { text: END(kind), rows: given(RECORDS[kind].table, values) };
    }),
  );
  const records = new Map(
    KINDS.flatMap((kind, index) => results[index]!.rows.map((row) => [row.reference, toRecord<Payment>(row)])),
  );
  const final = ends.flatMap((end) => {
    const record = records.get(end.reference);
    return record ? [{ ...end, record }] : [];
  });
  yield* writeEvents(final);
  return final;
}

/** Ends records now that are pending. The merchants are locked in `orders`. */
export function* endNow(
  ends: readonly (Pick<End, "kind" | "reference" | "merchant" | "status"> & { failure?: Failure | undefined })[],
): Work<void> {
  yield* endAll(
    ends.map((end) => ({
      ...end,
      failure: failureValue(end.failure),
      at: sandboxTime(end.merchant, end.merchant.now),
    })),
  );
}
