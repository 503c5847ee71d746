import type { Checkout, CheckoutStore } from "../../domain/checkouts.ts";
import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import type { ServiceError } from "../../domain/errors.ts";
import type { Draft, Insertion } from "../../domain/records.ts";
import { columnsOf } from "../columns.ts";
import { reserved } from "../ledger-rows.ts";
import { limited, looked, refusalFor, type KeyRow } from "../limit-rows.ts";
import { handoverValues } from "../portable/handover-rows.ts";
import { lockQueries, required, toLocked, type Lock, type LockedMerchant } from "../portable/locked-merchant.ts";
import { insertNew, insertRows, runRows, type Work } from "../portable/query.ts";
import type { Context } from "../postgres/context.ts";
import { runIn } from "../postgres/executor.ts";
import { byText } from "../postgres/text.ts";
import { customerOf, recorded, toCheckout, toDisbursement, toValues } from "../record-rows.ts";
import type { Row, Values } from "../rows.ts";
import { writeEvents } from "./events-postgres.ts";
import { book, BOOK_MADE } from "./ledger-postgres.ts";
import { judge } from "./limits-postgres.ts";

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

export function insertions({ batched }: Context): Insertions {
  /** One batch at a time: while a batch is being committed, the next batch fills up. */
  function together<T extends Payment>(
    insertAll: (drafts: readonly Draft<T>[], asksFirst: boolean) => Work<Insertion<T>[]>,
  ) {
    /**
     * False to book the payouts with the statement that stores them, which fails unless the balances cover all payouts;
     * true to read the balances first, and to refuse payouts that they do not cover, because the balance refused a payout
     * of the last batch.
     */
    let asksFirst = false;
    return batched(
      async (drafts: Draft<T>[], queries) => {
        const options = { repeatable: true, items: drafts.length };
        const insert = () => queries.transaction((query) => runIn(query, insertAll(drafts, asksFirst)), options);
        const results = await insert().catch((error) => {
          if (!(error instanceof NotCovered)) throw error;
          asksFirst = true;
          return insert();
        });
        asksFirst = results.some(({ refusal }) => refusal?.code === "insufficient_funds");
        return results;
      },
      { concurrency: 1, largest: 512 },
    );
  }
  return { insertDisbursement: together(insertDisbursements), insertCheckout: together(insertCheckouts) };
}

type Payment = Disbursement | Checkout;

/** Rolls back a batch that was booked at once although a balance does not cover it. */
class NotCovered extends Error {}

interface Item<T extends Payment> {
  draft: Draft<T>;
  record: T;
  merchant: LockedMerchant;
  /** Why the record may not be stored. */
  refusal: ServiceError | undefined;
}

function* insertDisbursements(
  drafts: readonly Draft<Disbursement>[],
  asksFirst: boolean,
): Work<Insertion<Disbursement>[]> {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const ownersOf = yield* lockOwners(drafts, writesEvents ? "orders" : "shares");
  const items = drafts.map((asked) => {
    const { merchant, key } = ownersOf(asked);
    const { bounds, draft } = limited(asked, merchant, key, merchant.now);
    const customer = customerOf(merchant, asked.customer.phoneNumber);
    const record = recorded<Disbursement>({ ...draft, customer }, merchant, merchant.now);
    return { draft, merchant, bounds, record, refusal: refusalFor(asked, merchant, key) };
  });
  // Payouts with limits are always judged first.
  const asks = asksFirst || items.some(({ bounds }) => bounds.length > 0);
  const mustBeCovered = new Set(drafts.filter((draft) => draft.mustBeCovered).map(({ id }) => id));
  const stored = yield* store(asks ? PAYOUTS : BOOKED_PAYOUTS, items, ({ id, available, enforced }) => {
    if (Number(available) < 0 && (enforced || mustBeCovered.has(id as string))) throw new NotCovered();
  });
  const candidates = items.flatMap(({ record, merchant, bounds }, index) => {
    if (!isNew(stored[index]!, record)) return [];
    const entry = reserved(record, merchant);
    return [{ record, merchant, bounds, entry, mustBeCovered: mustBeCovered.has(record.id) }];
  });
  const refusals = yield* judge(asks ? candidates : []);
  const results = refusals.size === 0 ? stored : yield* withoutRefused(items, stored, refusals);
  const kept = candidates.filter(({ record }) => !refusals.has(record));
  yield* handOver(items, results);
  yield* book(asks ? kept.map(({ entry }) => entry) : []);
  yield* writeEvents(kept.filter(({ record }) => record.status !== "pending"));
  return results;
}

function* insertCheckouts(drafts: readonly Draft<Checkout>[]): Work<Insertion<Checkout>[]> {
  const ownersOf = yield* lockOwners(drafts, "shares");
  const items = drafts.map((draft) => {
    const { merchant, key } = ownersOf(draft);
    const record = recorded<Checkout>(draft, merchant, merchant.now);
    return { draft, merchant, record, refusal: refusalFor(draft, merchant, key) };
  });
  const results = yield* store(CHECKOUTS, items);
  yield* handOver(items, results);
  return results;
}

const KEYS = `SELECT k.id, k.limits, k.created_by, k.revoked_at FROM :rows
  JOIN api_keys k ON k.merchant_id = given.merchant_id AND k.id = given.id`;

type Owned = Pick<Draft<Payment>, "keyId" | "merchantId">;

/** Locks the merchants of drafts, and reads their keys once the merchants are locked, without another round trip. */
function* lockOwners(
  drafts: readonly Owned[],
  lock: Lock,
): Work<(draft: Owned) => { merchant: LockedMerchant; key: KeyRow }> {
  const ids = drafts.map(({ merchantId }) => merchantId);
  const named = drafts.flatMap(({ keyId, merchantId }) =>
    keyId === undefined ? [] : [[keyId, { merchant_id: merchantId, id: keyId }] as const],
  );
  const rows = { columns: columnsOf("api_keys", ["merchant_id", "id"]), values: [...new Map(named).values()] };
  const [, locked, found] = yield [...lockQueries(ids, lock), ...(named.length > 0 ? [{ text: KEYS, rows }] : [])];
  const merchants = toLocked(locked!);
  const keys = new Map(found?.rows.map((row) => [row.id, row]));
  return ({ merchantId, keyId }) => ({ merchant: required(merchants, merchantId), key: keys.get(keyId) });
}

/** True if this run of the transaction has stored the record. An earlier run's record was read from the database. */
const isNew = <T>({ inserted, record }: Insertion<T>, wanted: T) => inserted && record === wanted;

const REFERENCE = columnsOf("disbursements", ["merchant_id", "reference"]);
const REMOVE = `DELETE FROM disbursements r USING :rows
  WHERE r.merchant_id = given.merchant_id AND r.reference = given.reference`;

/**
 * Removes payouts that a limit or the balance refuses. The payouts to judge are known only once they are stored,
 * because a duplicate is not judged.
 */
function* withoutRefused(
  items: readonly Item<Disbursement>[],
  stored: readonly Insertion<Disbursement>[],
  refusals: ReadonlyMap<Disbursement, ServiceError>,
): Work<Insertion<Disbursement>[]> {
  const refused = [...refusals.keys()];
  const rows = refused.map(({ merchantId, reference }) => ({ merchant_id: merchantId, reference }));
  yield* runRows(REMOVE, REFERENCE, rows);
  const byReference = new Map(refused.map((record) => [record.reference, refusals.get(record)!]));
  // Another request of the batch with the same reference is refused too: the payout of which it would be a duplicate
  // does not exist.
  return stored.map((result, index) => {
    const refusal = byReference.get(result.record.reference);
    return refusal ? { ...result, inserted: false, refusal: items[index]!.refusal ?? refusal } : result;
  });
}

/** Writes the hand-overs of new records to their rails. */
function* handOver<T extends Payment>(items: readonly Item<T>[], results: readonly Insertion<T>[]): Work<void> {
  const values = items.flatMap(({ draft: { rail }, record, merchant }, index) =>
    rail !== undefined && isNew(results[index]!, record) ? [handoverValues(record, rail, merchant.now)] : [],
  );
  if (values.length > 0) yield [insertNew("handovers", values)];
}

interface RecordTable<T> {
  table: "disbursements" | "checkouts";
  toRecord(row: Row): T;
  /** Makes the statement from an INSERT. The statement returns the ids of the stored rows. */
  complete(insert: string): string;
}

const PAYOUTS: RecordTable<Disbursement> = {
  table: "disbursements",
  toRecord: toDisbursement,
  complete: (insert) => `${insert} RETURNING id`,
};
/** Books, like `reserved` of ledger-rows.ts, the payouts that it stores. */
const BOOKED_PAYOUTS: RecordTable<Disbursement> = {
  ...PAYOUTS,
  complete: (insert) => `WITH stored AS (${insert} RETURNING *), made AS (
      SELECT merchant_id, reference, 'reserve' AS kind, currency, updated_at AS at, -(amount::numeric + fee) AS available,
        amount::numeric + fee AS reserved, 0 AS fees, 0 AS outside FROM stored
    ), ${BOOK_MADE} SELECT s.id, c.available, c.enforced FROM stored s JOIN changed c
      ON c.merchant_id = s.merchant_id AND c.currency = s.currency`,
};
const CHECKOUTS: RecordTable<Checkout> = {
  table: "checkouts",
  toRecord: toCheckout,
  complete: (insert) => `${insert} RETURNING id`,
};

const MERCHANTS_REFERENCE = columnsOf("disbursements", ["merchant_id", "merchants_reference"]);
const selectByReference = (table: string) => `SELECT r.* FROM :rows
  CROSS JOIN LATERAL (SELECT * FROM ${table} r WHERE r.merchant_id = given.merchant_id
    AND r.merchants_reference = given.merchants_reference LIMIT 1) AS r`;
const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.merchants_reference}`;

/**
 * Stores records, unless their merchant's reference is in use (D4) or they are refused. If the transaction is repeated,
 * what its earlier run has stored is returned as it is, and nothing is judged again.
 * @param check gets what the statement returns about each stored record, and may throw
 */
function* store<T extends Payment>(
  { table, toRecord, complete }: RecordTable<T>,
  items: readonly Item<T>[],
  check: (inserted: Row) => void = () => {},
): Work<Insertion<T>[]> {
  const rows = items.map(({ record }) => toValues(record));
  const permitted = rows.filter((_, index) => !items[index]!.refusal);
  // Concurrent transactions insert in the same order, so that they cannot deadlock.
  const sorted = permitted.toSorted((a, b) => byText(keyOf(a), keyOf(b)));
  const { text, rows: given } = insertRows(table, rows, "ON CONFLICT DO NOTHING");
  const inserted = yield* runRows(complete(text), given.columns, sorted);
  inserted.forEach(check);
  // Requests with the same reference may be in one batch, so the ids tell which was stored.
  const ids = new Set(inserted.map(({ id }) => id));
  const others = rows.filter(({ id }) => !ids.has(id));
  const existing = yield* runRows(selectByReference(table), MERCHANTS_REFERENCE, others);
  const byReference = new Map(existing.map((row) => [keyOf(row), toRecord(row)]));
  return items.map(({ record, refusal }, index) => {
    if (ids.has(record.id)) return { inserted: true, record };
    const found = byReference.get(keyOf(rows[index]!));
    // A record that is not refused either was stored, or its reference is in use.
    return looked(record, refusal, found)!;
  });
}
