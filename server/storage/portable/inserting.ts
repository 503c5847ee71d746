import type { AccessChain } from "../../domain/audit.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { insufficientFunds } from "../../domain/ledger.ts";
import { approvalLevel, limitRefusal, type Bound, type Limits } from "../../domain/limits.ts";
import { suspension } from "../../domain/merchants.ts";
import { heldBack, type RecordStore } from "../../domain/payments.ts";
import type { Checkout, Disbursement, Draft, Insertion, Payment } from "../../domain/records.ts";
import { byText } from "../postgres/text.ts";
import { customerOf, recorded, RECORDS, toRecord, toValues, type RecordTable } from "../record-rows.ts";
import { fromJson, keyRevoked, optional, type Row, type StoredMerchant, type Values } from "../rows.ts";
import { booked, openQuery, reserved, toBooks, type Books, type Entry, type Place } from "./booking.ts";
import { lockQueries, required, toLocked, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import {
  eachGiven,
  given,
  insertNew,
  insertRows,
  type Database,
  type Executor,
  type Query,
  type Work,
} from "./query.ts";
import { writeEvents } from "./settling.ts";

/** A payment that a request asks for. */
interface Item<T extends Payment> {
  draft: Draft<T>;
  record: T;
  merchant: LockedMerchant;
  /** Why the record may not be stored. */
  refusal: ServiceError | undefined;
}

interface Payout extends Item<Disbursement> {
  bounds: readonly StoredBound[];
  entry: Entry;
  mustBeCovered: boolean;
}

/** Stores new payments. Those that arrive while earlier ones are being committed share a transaction. */
export function insertions({
  database,
  together,
}: Executor): Pick<RecordStore, "insertDisbursement" | "insertCheckout"> {
  const options = { largest: 512, repeatable: true };
  return {
    insertDisbursement: together(
      (drafts: readonly Draft<Disbursement>[]) => insertDisbursements(drafts, database),
      options,
    ),
    insertCheckout: together(insertCheckouts, options),
  };
}

function* insertDisbursements(
  drafts: readonly Draft<Disbursement>[],
  database: Database,
): Work<Insertion<Disbursement>[]> {
  const writesEvents = drafts.some(({ status }) => status !== "pending");
  const { ownersOf, isEnforced } = yield* lockOwners(drafts, writesEvents ? "orders" : "shares");
  const items = drafts.map((asked): Payout => {
    const { merchant, key } = ownersOf(asked);
    const { bounds, draft } = limited(asked, merchant, key, merchant.now);
    const customer = customerOf(merchant, asked.customer.phoneNumber);
    const record = recorded<Disbursement>({ ...draft, customer }, merchant, merchant.now);
    const entry = reserved(record, merchant);
    const mustBeCovered = asked.mustBeCovered === true || isEnforced(entry);
    return { draft, merchant, bounds, record, entry, mustBeCovered, refusal: refusalFor(asked, merchant, key) };
  });
  const isBookedAtOnce = database === "postgres" && items.every(isPlain);
  const batch = yield* isBookedAtOnce ? storeBooked(items) : storeAndJudge(items, database);
  const results = yield* outcomes(RECORDS.disbursement, items, batch);
  yield* writeEvents(itemsIn(items, batch.stored).filter(({ record }) => record.status !== "pending"));
  return results;
}

function* insertCheckouts(drafts: readonly Draft<Checkout>[]): Work<Insertion<Checkout>[]> {
  const { ownersOf } = yield* lockOwners(drafts, "shares");
  const items = drafts.map((draft): Item<Checkout> => {
    const { merchant, key } = ownersOf(draft);
    const record = recorded<Checkout>(draft, merchant, merchant.now);
    return { draft, merchant, record, refusal: refusalFor(draft, merchant, key) };
  });
  const [inserted] = yield [insertQuery(RECORDS.checkout, items)];
  const stored = idsOf(inserted!.rows);
  return yield* outcomes(RECORDS.checkout, items, { stored, last: [handOver(itemsIn(items, stored))] });
}

const KEYS = eachGiven(`SELECT id, limits, created_by, revoked_at FROM api_keys
  WHERE merchant_id = given.merchant_id AND id = given.id LIMIT 1`);
const ENFORCED = `SELECT merchant_id, currency FROM accounts
  WHERE merchant_id = ANY(:merchants::text[]) AND enforced = true`;

type Owned = Pick<Draft<Payment>, "keyId" | "merchantId">;

interface Owners {
  ownersOf(draft: Owned): { merchant: LockedMerchant; key: KeyRow };
  /** True if the sandbox's balance must cover payouts (D87). While the merchant is locked, this does not change. */
  isEnforced(place: Place): boolean;
}

/** Locks the merchants of drafts, and reads the rest once they are locked, without another round trip. */
function* lockOwners(drafts: readonly Owned[], lock: Lock): Work<Owners> {
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
  const keys = new Map(found!.rows.map((row) => [row.id, row]));
  const enforced = new Set(accounts!.rows.map((row) => `${row.merchant_id} ${row.currency}`));
  return {
    ownersOf: ({ merchantId, keyId }) => ({ merchant: required(merchants, merchantId), key: keys.get(keyId) }),
    isEnforced: (place) => enforced.has(`${place.merchant_id} ${place.currency}`),
  };
}

/** The amount that a payout adds to the sum of a day of its key or merchant. */
type DailySum = ReturnType<typeof dailySum>;

const dailySum = ({ amount, currency }: Draft<Disbursement>, { id }: StoredMerchant, keyId: string, now: number) =>
  ({
    merchant_id: id,
    key_id: keyId,
    day: new Date(now).toISOString().slice(0, 10),
    currency,
    amount,
  }) satisfies Values;

/** A limit of a new payout, and the sum to which the payout adds. Only a daily limit has a sum. */
type StoredBound = Bound & { daily?: DailySum };

/** The part of a key's row that concerns its payments; undefined without a key. */
type KeyRow = Row | undefined;

/** Returns why a payment is refused, whatever it pays. */
const refusalFor = (draft: Draft<Payment>, merchant: StoredMerchant, key: KeyRow): ServiceError | undefined =>
  draft.keyId !== undefined && key?.revoked_at !== null ? keyRevoked() : (suspension(merchant) ?? draft.refusal);

/** Returns the limits of a payout. @param now real time, which decides the day */
function boundsOf(draft: Draft<Disbursement>, merchant: StoredMerchant, key: KeyRow, now: number): StoredBound[] {
  const limiting: [string, Limits | null | undefined][] = [
    [draft.keyId ?? "", fromJson(key?.limits ?? null) as Limits | null],
    ["", merchant.limits],
  ];
  return limiting.flatMap(([keyId, limits]) =>
    limits ? [{ keyId, limits, ...(limits.perDay && { daily: dailySum(draft, merchant, keyId, now) }) }] : [],
  );
}

/** Returns the limits of a payout, and its draft: held back if a limit asks for approval. */
function limited(draft: Draft<Disbursement>, merchant: StoredMerchant, key: KeyRow, now: number) {
  const bounds = boundsOf(draft, merchant, key, now);
  const level = approvalLevel(draft, bounds);
  const creator = key && optional<AccessChain>(key.created_by);
  // A starting server is not a person, and cannot approve payouts.
  const madeBy = draft.madeBy ?? (creator?.startsWith("server ") ? undefined : creator);
  const held = level === undefined ? draft : heldBack(draft, { level, ...(madeBy !== undefined && { madeBy }) });
  return { bounds, draft: held };
}

const idsOf = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id));
const itemsIn = <T extends Item<Payment>>(items: readonly T[], ids: ReadonlySet<string>) =>
  items.filter(({ record }) => ids.has(record.id));
const keyOf = (row: Values | Row) => `${row.merchant_id} ${row.merchants_reference}`;

/**
 * Stores records that are not refused, unless their merchant's reference is in use (D4). Returns the ids of the stored
 * records. Transactions insert in the same order, so that they cannot deadlock.
 * @param complete makes the statement from an INSERT
 */
function insertQuery<T extends Payment>(
  { table }: RecordTable,
  items: readonly Item<T>[],
  complete = (insert: string) => `${insert} RETURNING id`,
): Query {
  const permitted = items.filter(({ refusal }) => !refusal).map(({ record }) => toValues(record));
  const sorted = permitted.toSorted((a, b) => byText(keyOf(a), keyOf(b)));
  const { text, rows } = insertRows(table, sorted, "ON CONFLICT DO NOTHING");
  return { text: complete(text), rows };
}

/** A new record's hand-over, which is ready at once. @param now real time */
export function handoverValues(record: Payment, rail: string, now: number) {
  return {
    merchant_id: record.merchantId,
    id: record.reference,
    kind: "locale" in record ? "checkout" : "disbursement",
    rail,
    state: "waiting",
    created_real: now,
    next_attempt_at: now,
    ready: 1,
  } satisfies Values;
}

/** Writes the hand-overs of new records to their rails. */
const handOver = (items: readonly Item<Payment>[]): Query =>
  insertNew(
    "handovers",
    items.flatMap(({ draft: { rail }, record, merchant }) =>
      rail === undefined ? [] : [handoverValues(record, rail, merchant.now)],
    ),
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

/** True if neither a limit nor the balance can refuse the payout, and no rail gets it. */
const isPlain = ({ bounds, mustBeCovered, draft }: Payout) =>
  bounds.length === 0 && !mustBeCovered && draft.rail === undefined;

function* storeBooked(items: readonly Payout[]): Work<Stored> {
  const [inserted] = yield [insertQuery(RECORDS.disbursement, items, booked)];
  return { stored: idsOf(inserted!.rows), last: [] };
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
function* storeAndJudge(items: readonly Payout[], database: Database): Work<Stored> {
  const insert = insertQuery(RECORDS.disbursement, items);
  const lock = (payouts: readonly Payout[]) => [
    addQuery(payouts.flatMap(sumsOf).map((sum) => ({ ...sum, amount: 0 }))),
    openQuery(payouts.map(({ entry }) => entry)),
  ];
  // In PostgreSQL a step more is a round trip more. In SQLite a duplicate must not need the disk.
  const inSteps = database === "sqlite";
  const [inserted, ...early] = yield inSteps ? [insert] : [insert, ...lock(items.filter(({ refusal }) => !refusal))];
  const stored = itemsIn(items, idsOf(inserted!.rows));
  const [locked, opened] = inSteps ? yield lock(stored) : early;
  const used = new Map(locked!.rows.map((row) => [nameOf(row), row.amount as number]));
  const books = toBooks(opened!);
  const refusals = judged(stored, used, books);
  const kept = stored.filter(({ record }) => !refusals.has(record.reference));
  const removed = stored.filter(({ record }) => refusals.has(record.reference)).map(({ record }) => record);
  const which = {
    merchants: [...new Set(removed.map(({ merchantId }) => merchantId))],
    references: removed.map(({ reference }) => reference),
  };
  return {
    stored: new Set(kept.map(({ record }) => record.id)),
    refusals,
    last: [
      ...(removed.length > 0 ? [{ text: REMOVE, values: which }] : []),
      addQuery(kept.flatMap(sumsOf)),
      ...books.queries(),
      handOver(kept),
    ],
  };
}

/** Books the payouts that may stay. Returns why the others may not, by reference. */
function judged(items: readonly Payout[], used: Map<string, number>, books: Books): Map<string, ServiceError> {
  const refusals = new Map<string, ServiceError>();
  for (const item of items) {
    const { record, bounds, entry, mustBeCovered } = item;
    const isCovered = !mustBeCovered || books.accountOf(entry).available + entry.available >= 0n;
    const limits = bounds.map((bound) => limitRefusal(record, bound, bound.daily ? used.get(nameOf(bound.daily))! : 0));
    const refusal = limits.find(Boolean) ?? (isCovered ? undefined : insufficientFunds(record));
    if (refusal) refusals.set(record.reference, refusal);
    else {
      books.add(entry);
      for (const sum of sumsOf(item)) used.set(nameOf(sum), used.get(nameOf(sum))! + sum.amount);
    }
  }
  return refusals;
}

const selectByReference = (table: string) =>
  eachGiven(`SELECT * FROM ${table} WHERE merchant_id = given.merchant_id
    AND merchants_reference = given.merchants_reference LIMIT 1`);

/**
 * Executes what is left, and returns what became of the payments. If the transaction is repeated, what its earlier run
 * has stored is returned as it is, and nothing is judged again.
 */
function* outcomes<T extends Payment>(
  { table }: RecordTable,
  items: readonly Item<T>[],
  { stored, refusals, last }: Stored,
): Work<Insertion<T>[]> {
  const places = items.map(({ record }) => ({
    merchant_id: record.merchantId,
    merchants_reference: record.merchantsReference,
  }));
  const values = places.filter((_, index) => !stored.has(items[index]!.record.id));
  // Before removals, because other requests of the batch may have the reference of a payout that is removed.
  const [existing] = yield [{ text: selectByReference(table), rows: given(table, values) }, ...last];
  const byReference = new Map(existing!.rows.map((row) => [keyOf(row), toRecord<T>(row)]));
  return items.map(({ record, refusal }, index): Insertion<T> => {
    if (stored.has(record.id)) return { inserted: true, record };
    const found = byReference.get(keyOf(places[index]!));
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
