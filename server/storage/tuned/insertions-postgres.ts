import type { Checkout, CheckoutStore } from "../../domain/checkouts.ts";
import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import type { Draft, Insertion, PaymentRecord } from "../../domain/records.ts";
import { CHECKOUT_COLUMNS, DISBURSEMENT_COLUMNS, NEW_HANDOVER_COLUMNS, type Columns } from "../columns.ts";
import { reserved, type Entry } from "../ledger-rows.ts";
import { handoverValues } from "../portable/handover-rows.ts";
import { required, type LockedMerchant } from "../portable/locked-merchant.ts";
import { inserter, unnested, type Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { lockMerchants } from "../postgres/merchant-rows.ts";
import { recorded, toCheckout, toDisbursement, toValues } from "../record-rows.ts";
import type { Row, Values } from "../rows.ts";
import { byText } from "../postgres/text.ts";
import { findOrCreateCustomers } from "./customers-postgres.ts";
import { writeEvents } from "./events-postgres.ts";
import { book, BOOK_MADE, uncovered } from "./ledger-postgres.ts";

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

export function insertions({ batched }: Context): Insertions {
  type InsertAll<T extends PaymentRecord> = (
    query: Query,
    drafts: readonly Draft<T>[],
    asksFirst: boolean,
  ) => Promise<Insertion<T>[]>;
  /** One batch at a time: while a batch is being committed, the next batch fills up. */
  function together<T extends PaymentRecord>(insertAll: InsertAll<T>) {
    // Whether the last batch had a payout that its balance did not cover.
    let asksFirst = false;
    return batched(
      async (drafts: Draft<T>[], queries) => {
        // A record that was inserted already is recognised by its id.
        const insert = () =>
          queries.transaction((query) => insertAll(query, drafts, asksFirst), {
            repeatable: true,
            items: drafts.length,
          });
        const results = await insert().catch((error) => {
          if (!(error instanceof NotCovered)) throw error;
          asksFirst = true;
          return insert();
        });
        asksFirst = results.some(({ isUncovered }) => isUncovered);
        return results;
      },
      { concurrency: 1, largest: 512 },
    );
  }
  return { insertDisbursement: together(insertDisbursements), insertCheckout: together(insertCheckouts) };
}

/** Rolls back a batch that was booked at once although a balance does not cover it. */
class NotCovered extends Error {}

/**
 * @param asksFirst false to book the payouts with the statement that stores them, for which all must be covered; true to
 *   ask for the balances first, and to refuse what they do not cover
 */
async function insertDisbursements(query: Query, drafts: readonly Draft<Disbursement>[], asksFirst: boolean) {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const ids = drafts.map(({ merchantId }) => merchantId);
  // The customers are looked up once the merchants are locked, but without another round trip.
  const [merchants, customers] = await Promise.all([
    lockMerchants(query, ids, writesEvents ? "orders" : "shares"),
    findOrCreateCustomers(query, drafts),
  ]);
  const items = drafts.map((draft, index) => {
    const merchant = required(merchants, draft.merchantId);
    const customer = customers[index]!;
    return { record: recorded<Disbursement>({ ...draft, customer }, merchant, merchant.dated), merchant };
  });
  const mustBeCovered = new Set(drafts.filter((draft) => draft.mustBeCovered).map(({ reference }) => reference));
  const stored = await (asksFirst ? storeDisbursements : storeAndBook)(query, items, ({ reference, available }) => {
    if (mustBeCovered.has(reference as string) && Number(available) < 0) throw new NotCovered();
  });
  const isStored = (results: readonly Insertion<Disbursement>[], index: number) =>
    results[index]!.inserted && results[index]!.record === items[index]!.record;
  const entries = items.map(({ record, merchant }) => reserved(record, merchant));
  const mustBe = entries.filter((_, index) => asksFirst && drafts[index]!.mustBeCovered && isStored(stored, index));
  const refused = await runIn(query, uncovered(mustBe));
  const results = refused.size === 0 ? stored : await withoutRefused(query, stored, refused);
  const written = items.filter(({ record }, index) => record.status !== "pending" && isStored(results, index));
  await handOver(query, drafts, items, results);
  await runIn(query, book(entries.filter((_, index) => asksFirst && isStored(results, index))));
  await runIn(query, writeEvents(written));
  return results;
}

const REMOVE = `DELETE FROM disbursements r USING ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference`;

/**
 * Removes payouts that the balance does not cover. Which payouts need a balance is known only once they are stored,
 * because a duplicate needs none. A new customer of such a payout stays, and no merchant sees it.
 */
async function withoutRefused(
  query: Query,
  stored: readonly Insertion<Disbursement>[],
  entries: ReadonlySet<Entry>,
): Promise<Insertion<Disbursement>[]> {
  const refused = [...entries];
  const references = new Set(refused.map(({ reference }) => reference));
  await query(REMOVE, [refused.map((entry) => entry.merchant_id), [...references]]);
  // Another request of the batch with the same reference is refused too: it would be a duplicate of nothing.
  return stored.map((result) =>
    references.has(result.record.reference) ? { ...result, inserted: false, isUncovered: true } : result,
  );
}

async function insertCheckouts(query: Query, drafts: readonly Draft<Checkout>[]) {
  const ids = drafts.map(({ merchantId }) => merchantId);
  const merchants = await lockMerchants(query, ids, "shares");
  const items = drafts.map((draft) => {
    const merchant = required(merchants, draft.merchantId);
    return { record: recorded<Checkout>(draft, merchant, merchant.dated), merchant };
  });
  const results = await storeCheckouts(query, items);
  await handOver(query, drafts, items, results);
  return results;
}

const insertHandovers = inserter("handovers", NEW_HANDOVER_COLUMNS, "ON CONFLICT DO NOTHING");

/** Writes the hand-overs of new records to their rails. */
async function handOver<T extends Disbursement | Checkout>(
  query: Query,
  drafts: readonly Draft<T>[],
  items: readonly { record: T; merchant: LockedMerchant }[],
  results: readonly Insertion<T>[],
) {
  const values = items.flatMap(({ record, merchant }, index) => {
    const { rail } = drafts[index]!;
    return rail !== undefined && results[index]!.inserted ? [handoverValues(record, rail, merchant, merchant.now)] : [];
  });
  if (values.length > 0) await insertHandovers(query, values);
}

interface RecordTable<T> {
  table: "disbursements" | "checkouts";
  columns: Columns;
  toRecord(row: Row): T;
  /** The whole statement, given an INSERT that returns the stored rows. The statement returns their references. */
  text?(insert: string): string;
}

const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.epoch} ${row.merchants_reference}`;

/**
 * Returns a function that stores records unless their merchant's reference is in use (D4). It may be repeated with the
 * same records: a record that exists already under its own id counts as inserted. `check` gets what the statement
 * returns of each stored record, and may throw.
 */
function recordInserter<T extends Disbursement | Checkout>({ table, columns, toRecord, text }: RecordTable<T>) {
  const insert = inserter(table, columns, `ON CONFLICT DO NOTHING RETURNING ${text ? "*" : "reference"}`, text);
  const selectByReference = `SELECT r.* FROM ${unnested(["text", "bigint", "text"])}
      AS wanted (merchant_id, epoch, merchants_reference)
    CROSS JOIN LATERAL (SELECT * FROM ${table} r WHERE r.merchant_id = wanted.merchant_id AND r.epoch = wanted.epoch
      AND r.merchants_reference = wanted.merchants_reference LIMIT 1) AS r`;

  /** Finds the existing records with the references of these rows. */
  async function existing(query: Query, rows: readonly Values[]): Promise<Map<string, T>> {
    if (rows.length === 0) return new Map();
    const keys = ["merchant_id", "epoch", "merchants_reference"].map((name) => rows.map((row) => row[name]));
    const found = await query(selectByReference, keys);
    return new Map(found.rows.map((row) => [keyOf(row), toRecord(row)]));
  }

  return async (
    query: Query,
    items: readonly { record: T; merchant: LockedMerchant }[],
    check: (inserted: Row) => void = () => {},
  ): Promise<Insertion<T>[]> => {
    const rows = items.map(({ record, merchant }) => toValues(record, merchant, merchant.dated - merchant.now));
    // Concurrent transactions insert in the same order, so that they cannot deadlock.
    const inserted = await insert(
      query,
      rows.toSorted((a, b) => byText(keyOf(a), keyOf(b))),
    );
    inserted.rows.forEach(check);
    const references = new Set(inserted.rows.map(({ reference }) => reference));
    const others = await existing(
      query,
      rows.filter(({ reference }) => !references.has(reference)),
    );
    return items.map(({ record }, index) => {
      if (references.has(record.reference)) return { inserted: true, record };
      const found = others.get(keyOf(rows[index]!))!;
      return { inserted: found.id === record.id, record: found };
    });
  };
}

const payouts = { table: "disbursements", columns: DISBURSEMENT_COLUMNS, toRecord: toDisbursement } as const;
const storeDisbursements = recordInserter<Disbursement>({ ...payouts });
/** Like `reserved` of ledger-rows.ts, from the stored payouts. */
const storeAndBook = recordInserter<Disbursement>({
  ...payouts,
  text: (insert) => `WITH stored AS (${insert}), made AS (
      SELECT merchant_id, epoch, reference, 'reserve' AS kind, currency, updated_at AS at, -(amount::numeric + fee) AS available,
        amount::numeric + fee AS reserved, 0 AS fees, 0 AS outside FROM stored
    ), ${BOOK_MADE} SELECT s.reference, c.available FROM stored s JOIN changed c
      ON c.merchant_id = s.merchant_id AND c.epoch = s.epoch AND c.currency = s.currency`,
});
const storeCheckouts = recordInserter({ table: "checkouts", columns: CHECKOUT_COLUMNS, toRecord: toCheckout });
