import type { Checkout, CheckoutStore } from "../../domain/checkouts.ts";
import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import type { Draft, Insertion, PaymentRecord } from "../../domain/records.ts";
import { CHECKOUT_COLUMNS, DISBURSEMENT_COLUMNS, NEW_HANDOVER_COLUMNS, type Columns } from "../columns.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { reserved } from "../ledger-rows.ts";
import { customerOf } from "../customers.ts";
import { limited, looked, refusalFor } from "../limit-rows.ts";
import { handoverValues } from "../portable/handover-rows.ts";
import { required, type LockedMerchant } from "../portable/locked-merchant.ts";
import { inserter, unnested, type Context } from "../postgres/context.ts";
import type { Query } from "../postgres/database.ts";
import { runIn } from "../postgres/executor.ts";
import { lockMerchants } from "../postgres/merchant-rows.ts";
import { recorded, toCheckout, toDisbursement, toValues } from "../record-rows.ts";
import type { Row, Values } from "../rows.ts";
import { byText } from "../postgres/text.ts";
import { writeEvents } from "./events-postgres.ts";
import { book, BOOK_MADE } from "./ledger-postgres.ts";
import { judge } from "./limits-postgres.ts";

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

export function insertions({ batched }: Context): Insertions {
  type InsertAll<T extends PaymentRecord> = (
    query: Query,
    drafts: readonly Draft<T>[],
    run: Run,
  ) => Promise<Insertion<T>[]>;
  /** One batch at a time: while a batch is being committed, the next batch fills up. */
  function together<T extends PaymentRecord>(insertAll: InsertAll<T>) {
    // Whether the balance refused a payout of the last batch.
    let asksFirst = false;
    return batched(
      async (drafts: Draft<T>[], queries) => {
        const tried: Values[] = [];
        const insert = () =>
          queries.transaction((query) => insertAll(query, drafts, { asksFirst, tried }), {
            repeatable: true,
            items: drafts.length,
          });
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

/** Rolls back a batch that was booked at once although a balance does not cover it. */
class NotCovered extends Error {}

interface Run {
  /**
   * False to book the payouts with the statement that stores them, which fails unless the balances cover all payouts;
   * true to read the balances first, and to refuse payouts that they do not cover. Payouts with limits are always judged
   * first.
   */
  asksFirst: boolean;
  /** What earlier runs of the transaction have inserted, and have perhaps committed. */
  tried: Values[];
}

async function insertDisbursements(query: Query, drafts: readonly Draft<Disbursement>[], { asksFirst, tried }: Run) {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const ids = drafts.map(({ merchantId }) => merchantId);
  // The keys are looked up once the merchants are locked, but without another round trip.
  const [merchants, keys] = await Promise.all([
    lockMerchants(query, ids, writesEvents ? "orders" : "shares"),
    keysOf(query, drafts),
  ]);
  const items = drafts.map((asked) => {
    const merchant = required(merchants, asked.merchantId);
    const key = keys.get(asked.keyId);
    const { bounds, draft } = limited(asked, merchant, key, merchant.now);
    const customer = customerOf(merchant, asked.customer.phoneNumber);
    const record = recorded<Disbursement>({ ...draft, customer }, merchant, merchant.now);
    return { draft, merchant, bounds, record, refusal: refusalFor(asked, merchant, key) };
  });
  const asks = asksFirst || items.some(({ bounds }) => bounds.length > 0);
  const mustBeCovered = new Set(drafts.filter((draft) => draft.mustBeCovered).map(({ id }) => id));
  const store = asks ? storeDisbursements : storeAndBook;
  const stored = await store(query, items, tried, ({ id, available, enforced }) => {
    if (Number(available) < 0 && (enforced || mustBeCovered.has(id as string))) throw new NotCovered();
  });
  const candidates = items.flatMap(({ record, merchant, bounds }, index) => {
    if (!isNew(stored[index]!, record)) return [];
    const entry = reserved(record, merchant);
    return [{ record, merchant, bounds, entry, mustBeCovered: mustBeCovered.has(record.id) }];
  });
  const refusals = await runIn(query, judge(asks ? candidates : []));
  const results = refusals.size === 0 ? stored : await withoutRefused(query, items, stored, refusals);
  const kept = candidates.filter(({ record }) => !refusals.has(record));
  await handOver(query, items, results);
  await runIn(query, book(asks ? kept.map(({ entry }) => entry) : []));
  await runIn(query, writeEvents(kept.filter(({ record }) => record.status !== "pending")));
  return results;
}

const KEYS = `SELECT k.id, k.limits, k.created_by, k.revoked_at FROM ${unnested(["text", "text"])} AS wanted (merchant_id, id)
  JOIN api_keys k ON k.merchant_id = wanted.merchant_id AND k.id = wanted.id`;

/** The keys of the requests, by id. */
async function keysOf(
  query: Query,
  drafts: readonly Pick<Draft<Checkout>, "keyId" | "merchantId">[],
): Promise<Map<unknown, Row>> {
  const ids = new Map(drafts.flatMap(({ keyId, merchantId }) => (keyId === undefined ? [] : [[keyId, merchantId]])));
  if (ids.size === 0) return new Map();
  const { rows } = await query(KEYS, [[...ids.values()], [...ids.keys()]]);
  return new Map(rows.map((row) => [row.id, row]));
}

interface Item<T extends PaymentRecord> {
  draft: Draft<T>;
  record: T;
  merchant: LockedMerchant;
  /** Why the record may not be stored. */
  refusal: ServiceError | undefined;
}

/** True if this run of the transaction has stored the record. An earlier run's record was read from the database. */
const isNew = <T>({ inserted, record }: Insertion<T>, wanted: T) => inserted && record === wanted;

const REMOVE = `DELETE FROM disbursements r USING ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference`;

/**
 * Removes payouts that a limit or the balance refuses. The payouts to judge are known only once they are stored,
 * because a duplicate is not judged.
 */
async function withoutRefused(
  query: Query,
  items: readonly Item<Disbursement>[],
  stored: readonly Insertion<Disbursement>[],
  refusals: ReadonlyMap<Disbursement, ServiceError>,
): Promise<Insertion<Disbursement>[]> {
  const refused = [...refusals.keys()];
  await query(REMOVE, [refused.map(({ merchantId }) => merchantId), refused.map(({ reference }) => reference)]);
  const byReference = new Map(refused.map((record) => [record.reference, refusals.get(record)!]));
  // Another request of the batch with the same reference is refused too: the payout of which it would be a duplicate
  // does not exist.
  return stored.map((result, index) => {
    const refusal = byReference.get(result.record.reference);
    return refusal ? { ...result, inserted: false, refusal: items[index]!.refusal ?? refusal } : result;
  });
}

async function insertCheckouts(query: Query, drafts: readonly Draft<Checkout>[], { tried }: Run) {
  const ids = drafts.map(({ merchantId }) => merchantId);
  const [merchants, keys] = await Promise.all([lockMerchants(query, ids, "shares"), keysOf(query, drafts)]);
  const items = drafts.map((draft) => {
    const merchant = required(merchants, draft.merchantId);
    const record = recorded<Checkout>(draft, merchant, merchant.now);
    return { draft, merchant, record, refusal: refusalFor(draft, merchant, keys.get(draft.keyId)) };
  });
  const results = await storeCheckouts(query, items, tried);
  await handOver(query, items, results);
  return results;
}

const insertHandovers = inserter("handovers", NEW_HANDOVER_COLUMNS, "ON CONFLICT DO NOTHING");

/** Writes the hand-overs of new records to their rails. */
async function handOver<T extends Disbursement | Checkout>(
  query: Query,
  items: readonly Item<T>[],
  results: readonly Insertion<T>[],
) {
  const values = items.flatMap(({ draft: { rail }, record, merchant }, index) =>
    rail !== undefined && isNew(results[index]!, record) ? [handoverValues(record, rail, merchant, merchant.now)] : [],
  );
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
 * Returns a function that stores records, unless their merchant's reference is in use (D4) or they are refused. If the
 * transaction is repeated, what its earlier run has stored is returned as it is, and nothing is judged again. `check`
 * gets what the statement returns about each stored record, and may throw.
 */
function recordInserter<T extends Disbursement | Checkout>({ table, columns, toRecord, text }: RecordTable<T>) {
  const insert = inserter(table, columns, `ON CONFLICT DO NOTHING RETURNING ${text ? "*" : "id"}`, text);
  const selectByReference = `SELECT r.* FROM ${unnested(["text", "bigint", "text"])}
      AS wanted (merchant_id, epoch, merchants_reference)
    CROSS JOIN LATERAL (SELECT * FROM ${table} r WHERE r.merchant_id = wanted.merchant_id AND r.epoch = wanted.epoch
      AND r.merchants_reference = wanted.merchants_reference LIMIT 1) AS r`;

  const selectOwn = `SELECT r.* FROM ${table} r JOIN ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
      ON r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference`;

  /** Finds what earlier runs have stored, also from before a reset of the sandbox. Returns it by id. */
  async function storedBefore(query: Query, tried: readonly Values[]): Promise<Map<unknown, T>> {
    if (tried.length === 0) return new Map();
    const keys = ["merchant_id", "reference"].map((name) => tried.map((row) => row[name]));
    return new Map((await query(selectOwn, keys)).rows.map((row) => [row.id, toRecord(row)]));
  }

  /** Finds the existing records with the references of these rows. */
  async function existing(query: Query, rows: readonly Values[]): Promise<Map<string, T>> {
    if (rows.length === 0) return new Map();
    const keys = ["merchant_id", "epoch", "merchants_reference"].map((name) => rows.map((row) => row[name]));
    const found = await query(selectByReference, keys);
    return new Map(found.rows.map((row) => [keyOf(row), toRecord(row)]));
  }

  return async (
    query: Query,
    items: readonly Item<T>[],
    tried: Values[],
    check: (inserted: Row) => void = () => {},
  ): Promise<Insertion<T>[]> => {
    const rows = items.map(({ record, merchant }) => toValues(record, merchant));
    const own = await storedBefore(query, tried);
    const permitted = rows.filter(({ id }, index) => !items[index]!.refusal && !own.has(id));
    tried.push(...permitted);
    // Concurrent transactions insert in the same order, so that they cannot deadlock.
    const sorted = permitted.toSorted((a, b) => byText(keyOf(a), keyOf(b)));
    const inserted = sorted.length === 0 ? [] : (await insert(query, sorted)).rows;
    inserted.forEach(check);
    // Requests with the same reference may be in one batch, so the ids tell which was stored.
    const ids = new Set(inserted.map(({ id }) => id));
    const others = await existing(
      query,
      rows.filter(({ id }) => !ids.has(id) && !own.has(id)),
    );
    return items.map(({ record, refusal }, index) => {
      if (ids.has(record.id)) return { inserted: true, record };
      const found = own.get(record.id) ?? others.get(keyOf(rows[index]!));
      // A record that is not refused either was stored, or its reference is in use.
      return looked(record, refusal, found)!;
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
