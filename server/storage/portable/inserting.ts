import type { AccessChain } from "../../domain/audit.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { insufficientFunds } from "../../domain/ledger.ts";
import { approvalLevel, limitRefusal, type Bound, type Limits } from "../../domain/limits.ts";
import { suspension } from "../../domain/merchants.ts";
import { heldBack, type RecordStore } from "../../domain/payments.ts";
import { kindOf, type Checkout, type Disbursement, type Draft } from "../../domain/records.ts";
import type { Insertion, Payment } from "../../domain/records.ts";
import { byText } from "../postgres/text.ts";
import { customerOf, fields, keyRevoked, recorded, RECORDS, toRecord, toValues } from "../rows.ts";
import type { RecordTable, Row, Values } from "../rows.ts";
import { openQuery, reserved, toBooks, type Books, type Entry } from "./booking.ts";
import { lockQueries, required, toLocked, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import { noted } from "./noting.ts";
import { eachGiven, given, insertNew, insertRows } from "./query.ts";
import type { Executor, Query, Work } from "./query.ts";
import { writeEvents } from "./settling.ts";

/** What concerns the payments of a key. */
type Key = { id: string; limits?: Limits; createdBy?: AccessChain; revokedAt?: number };
const toKey = fields<Key>("id limits created_by revoked_at");

/** A payment that a request asks for, with its locked merchant. */
interface Asked<T extends Payment> {
  draft: Draft<T>;
  merchant: LockedMerchant;
  key: Key | undefined;
  /** Why the payment may not be stored, whatever it pays. */
  refusal: ServiceError | undefined;
}

type Item<T extends Payment> = Asked<T> & { record: T };

interface Payout extends Item<Disbursement> {
  bounds: readonly StoredBound[];
  entry: Entry;
  mustBeCovered: boolean;
}

/** Stores new payments. Those that arrive while earlier ones are being committed share a transaction. */
export function insertions({ together }: Executor): Pick<RecordStore, "insertDisbursement" | "insertCheckout"> {
  function inserting<T extends Payment>(work: (drafts: readonly Draft<T>[]) => Work<Insertion<T>[]>) {
    const insert = together(work, { largest: 512, idempotent: true });
    return (draft: Draft<T>) => noted(insert(draft), (result) => (result?.inserted === false ? undefined : "certain"));
  }
  return {
    insertDisbursement: inserting(insertDisbursements),
    insertCheckout: inserting(insertCheckouts),
  };
}

function* insertDisbursements(drafts: readonly Draft<Disbursement>[]): Work<Insertion<Disbursement>[]> {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const { asked, enforced } = yield* lockOwners(drafts, writesEvents ? "orders" : "shares");
  const items = asked.map((each): Payout => {
    const { merchant } = each;
    const { bounds, draft } = limited(each);
    const customer = customerOf(merchant, draft.customer.phoneNumber);
    const record = recorded<Disbursement>({ ...draft, customer }, merchant);
    const entry = reserved(record);
    const mustBeCovered = draft.mustBeCovered === true || enforced.has(`${merchant.id} ${record.currency}`);
    return { ...each, draft, bounds, record, entry, mustBeCovered };
  });
  const batch = yield* storeAndJudge(items);
  const results = yield* outcomes(RECORDS.disbursement, items, batch);
  yield* writeEvents(itemsIn(items, batch.stored).filter(({ record }) => record.status !== "pending"));
  return results;
}

function* insertCheckouts(drafts: readonly Draft<Checkout>[]): Work<Insertion<Checkout>[]> {
  const { asked } = yield* lockOwners(drafts, "shares");
  const items = asked.map((each) => ({ ...each, record: recorded<Checkout>(each.draft, each.merchant) }));
  const [inserted] = yield [insertQuery(RECORDS.checkout, items)];
  const stored = idsOf(inserted!.rows);
  return yield* outcomes(RECORDS.checkout, items, { stored, last: [handOver(itemsIn(items, stored))] });
}

const KEYS = eachGiven(`SELECT id, limits, created_by, revoked_at FROM api_keys
  WHERE merchant_id = given.merchant_id AND id = given.id LIMIT 1`);
/** The sandbox's balances that must cover payouts (D87). While the merchants are locked, they do not change. */
const ENFORCED = `SELECT merchant_id, currency FROM accounts
  WHERE merchant_id = ANY(:merchants::text[]) AND enforced = true`;

/** Locks the merchants of drafts, and reads the rest once they are locked, without another round trip. */
function* lockOwners<T extends Payment>(
  drafts: readonly Draft<T>[],
  lock: Lock,
): Work<{ asked: Asked<T>[]; enforced: ReadonlySet<string> }> {
  const ids = [...new Set(drafts.map(({ merchantId }) => merchantId))];
  const named = drafts.flatMap(({ keyId, merchantId }) =>
    keyId === undefined ? [] : [[keyId, { merchant_id: merchantId, id: keyId }] as const],
  );
  const [, locked, found, accounts] = yield [
    ...lockQueries(ids, lock),
    { text: KEYS, rows: given("api_keys", [...new Map(named).values()]) },
    { text: ENFORCED, values: { merchants: ids } },
  ];
  const merchants = toLocked(locked!);
  const keys = new Map(found!.rows.map(toKey).map((key) => [key.id, key]));
  const asked = drafts.map((draft) => {
    const merchant = required(merchants, draft.merchantId);
    const key = keys.get(draft.keyId ?? "");
    const isRevoked = draft.keyId !== undefined && (!key || key.revokedAt !== undefined);
    return { draft, merchant, key, refusal: isRevoked ? keyRevoked() : (suspension(merchant) ?? draft.refusal) };
  });
  return { asked, enforced: new Set(accounts!.rows.map((row) => `${row.merchant_id} ${row.currency}`)) };
}

/** The amount that a payout adds to the sum of a day of its key or merchant. */
type DailySum = Record<"merchant_id" | "key_id" | "day" | "currency", string> & { amount: number };

/** A limit of a new payout, and the sum to which the payout adds. Only a daily limit has a sum. */
type StoredBound = Bound & { daily?: DailySum };

/** Returns the limits of a payout, and its draft: held back if a limit asks for approval. */
function limited({ draft, merchant, key }: Asked<Disbursement>) {
  const { amount, currency, keyId: ofKey = "" } = draft;
  const limiting = [[ofKey, key?.limits] as const, ["", merchant.limits] as const];
  const bounds = limiting.flatMap(([keyId, limits]): StoredBound[] => {
    if (!limits?.perDay) return limits ? [{ keyId, limits }] : [];
    const day = new Date(merchant.now).toISOString().slice(0, 10);
    return [{ keyId, limits, daily: { merchant_id: merchant.id, key_id: keyId, day, currency, amount } }];
  });
  const level = approvalLevel(draft, bounds);
  // A starting server is not a person, and cannot approve payouts.
  const madeBy = draft.madeBy ?? (key?.createdBy?.startsWith("server ") ? undefined : key?.createdBy);
  return { bounds, draft: level === undefined ? draft : heldBack(draft, level, madeBy) };
}

const idsOf = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id));
const itemsIn = <T extends Item<Payment>>(items: readonly T[], ids: ReadonlySet<string>) =>
  items.filter(({ record }) => ids.has(record.id));
const placeOf = ({ merchantId, merchantsReference }: Payment) => ({
  merchant_id: merchantId,
  merchants_reference: merchantsReference,
});
const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.merchants_reference}`;

/**
 * Stores records that are not refused, unless their merchant's reference is in use (D4). Returns the ids of the stored
 * records. Transactions insert in the same order, so that they cannot deadlock.
 */
function insertQuery<T extends Payment>({ table }: RecordTable, items: readonly Item<T>[]): Query {
  const permitted = items.filter(({ refusal }) => !refusal).map(({ record }) => toValues(record));
  const sorted = permitted.toSorted((a, b) => byText(keyOf(a), keyOf(b)));
  return insertRows(table, sorted, "ON CONFLICT DO NOTHING RETURNING id");
}

/** Writes the hand-overs of new payments to their rails. They are ready at once. */
export const handOver = (
  items: readonly { draft: { rail?: string | undefined }; record: Payment; merchant: { now: number } }[],
): Query =>
  insertNew(
    "handovers",
    items.flatMap(({ draft: { rail }, record, merchant: { now } }) => {
      const place = { merchant_id: record.merchantId, id: record.reference };
      const begins = { state: "waiting", created_real: now, next_attempt_at: now, ready: 1 };
      return rail === undefined ? [] : [{ ...place, kind: kindOf(record), rail, ...begins }];
    }),
  );

/** What a batch has stored so far. */
interface Stored {
  /** The ids of the records that this run of the transaction has stored. */
  stored: ReadonlySet<string>;
  /** Why stored payouts are removed again, by reference. */
  refusals?: ReadonlyMap<string, ServiceError>;
  /** The statements that are left to execute. */
  last: readonly Query[];
}

/** Adds to the sums, and locks them. Adding 0 locks a sum, even if the sum does not exist yet. */
const ADD = `ON CONFLICT (merchant_id, key_id, day, currency)
  DO UPDATE SET amount = daily_sums.amount + excluded.amount RETURNING *`;
const nameOf = (sum: DailySum | Row) => [sum.merchant_id, sum.key_id, sum.day, sum.currency].join(" ");
const sumsOf = ({ bounds }: Payout) => bounds.flatMap(({ daily }) => daily ?? []);

/** Transactions lock sums after records and before accounts, in the order of these rows, so that they cannot deadlock. */
function addQuery(sums: readonly DailySum[]): Query {
  const groups = [...Map.groupBy(sums, nameOf)].toSorted(([a], [b]) => byText(a, b));
  const values = groups.map(([, each]) => ({ ...each[0]!, amount: each.reduce((sum, { amount }) => sum + amount, 0) }));
  return insertRows("daily_sums", values, ADD);
}

const REMOVE = `DELETE FROM disbursements WHERE merchant_id = ANY(:merchants::text[])
  AND reference = ANY(:references::text[])`;

/**
 * Stores payouts, and judges them by their limits and balances, one after the other. The payouts to judge are known only
 * once they are stored, because a duplicate is not judged.
 */
function* storeAndJudge(items: readonly Payout[]): Work<Stored> {
  const [inserted] = yield [insertQuery(RECORDS.disbursement, items)];
  const stored = itemsIn(items, idsOf(inserted!.rows));
  const [locked, opened] = yield [
    addQuery(stored.flatMap(sumsOf).map((sum) => ({ ...sum, amount: 0 }))),
    openQuery(stored.map(({ entry }) => entry)),
  ];
  const used = new Map(locked!.rows.map((row) => [nameOf(row), row.amount as number]));
  const books = toBooks(opened!);
  const refusals = new Map<string, ServiceError>();
  for (const item of stored) {
    const refusal = judged(item, used, books);
    if (refusal) refusals.set(item.record.reference, refusal);
  }
  const isRefused = ({ record }: Payout) => refusals.has(record.reference);
  const kept = stored.filter((item) => !isRefused(item));
  const merchants = [...new Set(stored.filter(isRefused).map(({ merchant }) => merchant.id))];
  const remove = { text: REMOVE, values: { merchants, references: [...refusals.keys()] } };
  return {
    stored: new Set(kept.map(({ record }) => record.id)),
    refusals,
    last: [...(refusals.size > 0 ? [remove] : []), addQuery(kept.flatMap(sumsOf)), ...books.queries(), handOver(kept)],
  };
}

/** Books a payout that may stay. Returns why another may not. @param used the sums so far, by name */
function judged(item: Payout, used: Map<string, number>, books: Books): ServiceError | undefined {
  const { record, bounds, entry, mustBeCovered } = item;
  for (const bound of bounds) {
    const refusal = limitRefusal(record, bound, bound.daily ? used.get(nameOf(bound.daily))! : 0);
    if (refusal) return refusal;
  }
  if (mustBeCovered && books.accountOf(entry).available + entry.available < 0n) return insufficientFunds(record);
  books.add(entry);
  for (const sum of sumsOf(item)) used.set(nameOf(sum), used.get(nameOf(sum))! + sum.amount);
  return undefined;
}

/**
 * Executes what is left, and returns what became of the payments. If the transaction is repeated, what its earlier run
 * has stored is returned as it is, and nothing is judged again.
 */
function* outcomes<T extends Payment>(
  { table }: RecordTable,
  items: readonly Item<T>[],
  { stored, refusals, last }: Stored,
): Work<Insertion<T>[]> {
  const others = items.filter(({ record }) => !stored.has(record.id)).map(({ record }) => placeOf(record));
  const select = eachGiven(`SELECT * FROM ${table} WHERE merchant_id = given.merchant_id
    AND merchants_reference = given.merchants_reference LIMIT 1`);
  // Before removals, because other requests of the batch may have the reference of a payout that is removed.
  const [existing] = yield [{ text: select, rows: given(table, others) }, ...last];
  const byReference = new Map(existing!.rows.map((row) => [keyOf(row), toRecord<T>(row)]));
  return items.map(({ record, refusal }): Insertion<T> => {
    if (stored.has(record.id)) return { inserted: true, record };
    const found = byReference.get(keyOf(placeOf(record)));
    // An earlier run of the transaction has stored it.
    const isOwn = found?.id === record.id;
    // A known reference comes before every refusal (D1), but a revoked key is told nothing.
    const isShown = found && (isOwn || refusal?.code !== "unauthorized");
    if (!isShown && !refusal) throw new Error("A payment was neither stored nor refused.");
    const result = isShown ? { inserted: isOwn, record: found } : { inserted: false, record, refusal: refusal! };
    const removal = refusals?.get(result.record.reference);
    // The payout of which another request of the batch would be a duplicate does not exist.
    return removal ? { ...result, inserted: false, refusal: refusal ?? removal } : result;
  });
}
