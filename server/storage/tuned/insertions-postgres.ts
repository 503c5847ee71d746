import type { Checkout, CheckoutStore } from "../../domain/checkouts.ts";
import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import type { Draft, Insertion, PaymentRecord } from "../../domain/records.ts";
import { CHECKOUT_COLUMNS, DISBURSEMENT_COLUMNS, NEW_HANDOVER_COLUMNS, type Columns } from "../columns.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { suspension } from "../../domain/merchants.ts";
import { reserved } from "../ledger-rows.ts";
import { limited } from "../limit-rows.ts";
import { handoverValues } from "../portable/handover-rows.ts";
import { required, type LockedMerchant } from "../portable/locked-merchant.ts";
import { inserter, unnested, type Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { lockMerchants } from "../postgres/merchant-rows.ts";
import { recorded, toCheckout, toDisbursement, toValues } from "../record-rows.ts";
import type { Row, Values } from "../rows.ts";
import { byText } from "../postgres/text.ts";
import { customersOf } from "./customers-postgres.ts";
import { writeEvents } from "./events-postgres.ts";
import { book, BOOK_MADE } from "./ledger-postgres.ts";
import { judge } from "./limits-postgres.ts";

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

export function insertions({ batched }: Context): Insertions {
  type InsertAll<T extends PaymentRecord> = (
    query: Query,
    drafts: readonly Draft<T>[],
    asksFirst: boolean,
  ) => Promise<Insertion<T>[]>;
  /** One batch at a time: while a batch is being committed, the next batch fills up. */
  function together<T extends PaymentRecord>(insertAll: InsertAll<T>) {
    // Whether the last batch had a payout that was refused.
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
        asksFirst = results.some(({ refusal }) => refusal);
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
 * @param asksFirst false to book the payouts with the statement that stores them, which fails unless the balances cover
 * all payouts; true to read the balances first, and to refuse payouts that they do not cover. Payouts with limits are
 * always judged first.
 */
async function insertDisbursements(query: Query, drafts: readonly Draft<Disbursement>[], asksFirst: boolean) {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const ids = drafts.map(({ merchantId }) => merchantId);
  // The keys are looked up once the merchants are locked, but without another round trip.
  const [merchants, keys] = await Promise.all([
    lockMerchants(query, ids, writesEvents ? "orders" : "shares"),
    keysOf(query, drafts),
  ]);
  const wanted = drafts.map((draft) => ({ draft, merchant: required(merchants, draft.merchantId) }));
  const customerIdOf = await customersOf(query, wanted);
  const items = wanted.map((each) => {
    const { merchant, draft: asked } = each;
    const { bounds, draft } = limited(asked, merchant, keys.get(asked.keyId), merchant.now);
    const customer = { ...asked.customer, id: customerIdOf(each) };
    const record = recorded<Disbursement>({ ...draft, customer }, merchant, merchant.dated);
    return { draft, merchant, bounds, record };
  });
  const asks = asksFirst || items.some(({ bounds }) => bounds.length > 0);
  const mustBeCovered = new Set(drafts.filter((draft) => draft.mustBeCovered).map(({ id }) => id));
  const stored = await unlessSuspended(items, (active) =>
    (asks ? storeDisbursements : storeAndBook)(query, active, ({ id, available, enforced }) => {
      if (Number(available) < 0 && (enforced || mustBeCovered.has(id as string))) throw new NotCovered();
    }),
  );
  const candidates = items.flatMap(({ record, merchant, bounds }, index) => {
    if (!stored[index]!.inserted || stored[index]!.record !== record) return [];
    const entry = reserved(record, merchant);
    return [{ record, merchant, bounds, entry, mustBeCovered: mustBeCovered.has(record.id) }];
  });
  const refusals = await runIn(query, judge(asks ? candidates : []));
  const results = refusals.size === 0 ? stored : await withoutRefused(query, stored, refusals);
  const kept = candidates.filter(({ record }) => !refusals.has(record));
  await handOver(
    query,
    items.map(({ draft }) => draft),
    items,
    results,
  );
  await runIn(query, book(asks ? kept.map(({ entry }) => entry) : []));
  await runIn(query, writeEvents(kept.filter(({ record }) => record.status !== "pending")));
  return results;
}

const KEYS = `SELECT k.id, k.limits, k.created_by FROM ${unnested(["text", "text"])} AS wanted (merchant_id, id)
  JOIN api_keys k ON k.merchant_id = wanted.merchant_id AND k.id = wanted.id`;

/** The keys of the requests, by id. */
async function keysOf(query: Query, drafts: readonly Draft<Disbursement>[]): Promise<Map<unknown, Row>> {
  const ids = new Map(drafts.flatMap(({ keyId, merchantId }) => (keyId === undefined ? [] : [[keyId, merchantId]])));
  if (ids.size === 0) return new Map();
  const { rows } = await query(KEYS, [[...ids.values()], [...ids.keys()]]);
  return new Map(rows.map((row) => [row.id, row]));
}

interface Item<T> {
  record: T;
  merchant: LockedMerchant;
}

/** Stores the records whose merchants are not suspended. */
async function unlessSuspended<T extends Disbursement | Checkout>(
  items: readonly Item<T>[],
  store: (items: readonly Item<T>[]) => Promise<Insertion<T>[]>,
): Promise<Insertion<T>[]> {
  const active = items.filter(({ merchant }) => merchant.state === undefined);
  const stored = active.length === 0 ? [] : await store(active);
  const results = new Map(active.map(({ record }, index) => [record, stored[index]!]));
  return items.map(
    ({ record, merchant }) => results.get(record) ?? { inserted: false, record, refusal: suspension(merchant)! },
  );
}

const REMOVE = `DELETE FROM disbursements r USING ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference`;

/**
 * Removes payouts that a limit or the balance refuses. The payouts to judge are known only once they are stored,
 * because a duplicate is not judged.
 */
async function withoutRefused(
  query: Query,
  stored: readonly Insertion<Disbursement>[],
  refusals: ReadonlyMap<Disbursement, ServiceError>,
): Promise<Insertion<Disbursement>[]> {
  const refused = [...refusals.keys()];
  await query(REMOVE, [refused.map(({ merchantId }) => merchantId), refused.map(({ reference }) => reference)]);
  const byReference = new Map(refused.map((record) => [record.reference, refusals.get(record)!]));
  // Another request of the batch with the same reference is refused too: the payout of which it would be a duplicate
  // does not exist.
  return stored.map((result) => {
    const refusal = byReference.get(result.record.reference);
    return refusal ? { ...result, inserted: false, refusal } : result;
  });
}

async function insertCheckouts(query: Query, drafts: readonly Draft<Checkout>[]) {
  const ids = drafts.map(({ merchantId }) => merchantId);
  const merchants = await lockMerchants(query, ids, "shares");
  const items = drafts.map((draft) => {
    const merchant = required(merchants, draft.merchantId);
    return { record: recorded<Checkout>(draft, merchant, merchant.dated), merchant };
  });
  const results = await unlessSuspended(items, (active) => storeCheckouts(query, active));
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
  /** Makes the whole statement from an INSERT that returns the stored rows. The statement returns their ids. */
  text?(insert: string): string;
}

const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.epoch} ${row.merchants_reference}`;

/**
 * Returns a function that stores records unless their merchant's reference is in use (D4). It may be repeated with the
 * same records: a record that exists already under its own id counts as inserted. `check` gets what the statement
 * returns about each stored record, and may throw.
 */
function recordInserter<T extends Disbursement | Checkout>({ table, columns, toRecord, text }: RecordTable<T>) {
  const insert = inserter(table, columns, `ON CONFLICT DO NOTHING RETURNING ${text ? "*" : "id"}`, text);
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
    // Requests with the same reference may be in one batch, so the ids tell which was stored.
    const ids = new Set(inserted.rows.map(({ id }) => id));
    const others = await existing(
      query,
      rows.filter(({ id }) => !ids.has(id)),
    );
    return items.map(({ record }, index) => {
      if (ids.has(record.id)) return { inserted: true, record };
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
    ), ${BOOK_MADE} SELECT s.id, c.available, c.enforced FROM stored s JOIN changed c
      ON c.merchant_id = s.merchant_id AND c.epoch = s.epoch AND c.currency = s.currency`,
});
const storeCheckouts = recordInserter({ table: "checkouts", columns: CHECKOUT_COLUMNS, toRecord: toCheckout });
