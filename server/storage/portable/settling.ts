import { destinationOf, eventOf } from "../../domain/events.ts";
import type { Failure, FinalStatus, Payment, PaymentKind } from "../../domain/records.ts";
import type { ClockStore } from "../../domain/storage.ts";
import { happensAt, sandboxTime } from "../../domain/time.ts";
import { failureValue, fields, KINDS, RECORDS, toRecord, type StoredMerchant, type Values } from "../rows.ts";
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
  const { merchantId: merchant_id, createdAt: created_at, ...event } = eventOf(record, merchant.name);
  const { url = null, host = null } = destinationOf(record, merchant) ?? {};
  const status = url && "pending";
  const next_attempt_at = url && created_at - merchant.clockOffset;
  return { ...event, merchant_id, created_at, url, host, status, next_attempt_at, ready: url ? 1 : 0 } satisfies Values;
}

const findDue = (which: string) =>
  KINDS.map(
    (kind) => `SELECT * FROM (SELECT '${kind}' AS kind, merchant_id, reference, due_at, due_status, failure
      FROM ${RECORDS[kind].table} WHERE ${which} due_at <= (SELECT :now) ORDER BY due_at LIMIT :limit) AS found`,
  ).join(" UNION ALL ");
const FIND_ALL = findDue("");
const FIND_OF_MERCHANT = findDue("merchant_id = :merchant AND");

/** Leaves out records that are final, or whose time has changed since they were found. */
const END = (
  kind: PaymentKind,
) => `UPDATE ${RECORDS[kind].table} AS r SET status = given.status, failure = given.failure,
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
  const entries = records.flatMap(({ record }) => ended(record));
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

/** Gives due records their final status and writes their events. */
export function settler({ read, write, emit }: Executor): Pick<ClockStore, "settleDue"> {
  return {
    async settleDue(limit, merchantId) {
      const text = merchantId === undefined ? FIND_ALL : FIND_OF_MERCHANT;
      const find = { text, values: { limit, merchant: merchantId } };
      // Usually nothing is due. Avoid a transaction then.
      if ((await read(find)).length === 0) return 0;
      const work = function* () {
        // Another call may have settled them meanwhile.
        const { rows } = yield* run(find.text, find.values);
        const due = rows.toSorted((a, b) => a.due_at - b.due_at).slice(0, limit);
        const ids = due.map((row) => row.merchant_id);
        // Processes share the work: each leaves out the merchants on which another is working.
        const merchants = yield* lockMerchants(ids, "orders", { wait: merchantId !== undefined });
        const ends = due.flatMap((row) => {
          const merchant = merchants.get(row.merchant_id);
          return merchant ? [{ ...toEnd(row), merchant }] : [];
        });
        return yield* endAll(ends);
      };
      const settled = await write(work, { commit: "writeSoon", repeatable: true, isAside: true });
      for (const { merchant: owner, delayMs } of settled) emit("settled", { merchantId: owner.id, delayMs });
      return settled.length;
    },
  };
}

/** The end of a record of a locked merchant. */
interface End {
  kind: PaymentKind;
  reference: string;
  merchant: LockedMerchant;
  status: FinalStatus;
  failure?: Failure | undefined;
  /** When a record was due that ends because it is due, in real time. Other records end now. */
  wasDue?: number;
}

const toEnd = fields<Omit<End, "merchant">>("kind reference due_status:status failure due_at:wasDue");

/** Gives pending records their final status and writes their events. Returns the records that were pending. */
function* endAll(ends: readonly End[]): Work<(FinalRecord & { delayMs: number })[]> {
  const dated = ends.map((end) => {
    const { merchant, wasDue = merchant.now } = end;
    const dueAt = sandboxTime(merchant, wasDue);
    const at = end.wasDue === undefined ? dueAt : happensAt(merchant, dueAt, merchant.now);
    return { ...end, at, delayMs: at - dueAt };
  });
  const results = yield* runAll(
    KINDS.map((kind): Query => {
      const values = dated
        .filter((end) => end.kind === kind)
        .map(({ reference, merchant, status, failure, at, wasDue }) => ({
          merchant_id: merchant.id,
          reference,
          status,
          failure: failureValue(failure),
          at,
          was_due: wasDue ?? null,
        }));
      return { text: END(kind), rows: given(RECORDS[kind].table, values) };
    }),
  );
  const rows = new Map(results.flatMap((result) => result.rows.map((row) => [row.reference as string, row])));
  const final = dated.flatMap(({ reference, merchant, delayMs }) => {
    const row = rows.get(reference);
    return row ? [{ record: toRecord<Payment>(row), merchant, delayMs }] : [];
  });
  yield* writeEvents(final);
  return final;
}

/** Ends records now that are pending. The merchants are locked in `orders`. */
export function* endNow(ends: readonly Omit<End, "wasDue">[]): Work<void> {
  yield* endAll(ends);
}
