import type { Page } from "../../domain/pages.ts";
import { mayDecide, type Decided, type RecordStore } from "../../domain/payments.ts";
import { failureOf, type Checkout, type Disbursement, type Payment, type RecordQuery } from "../../domain/records.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { customerOf, dueValues, KINDS, RECORDS, toMerchant, toRecord, type RecordTable, type Row } from "../rows.ts";
import { columnsOf } from "../schema.ts";
import { recordAction } from "./audit.ts";
import { handOver } from "./inserting.ts";
import { lockMerchant, lockMerchants, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import { placeOf, toPage } from "./pages.ts";
import { LAST, LEAST_UUID, run, runAll, updateRows } from "./query.ts";
import type { Executor, Query, Work } from "./query.ts";
import { endNow } from "./settling.ts";
import { chainOf } from "./sign-in.ts";

/** Records of the same millisecond are ordered by insertion in SQLite, and in PostgreSQL by their ids. */
const KEYS = {
  sqlite: { key: "rowid", least: 0, columns: "rowid, *" },
  postgres: { key: "id", least: LEAST_UUID, columns: "*" },
};

/** The day of a record, with which the indexes by phone number begin in SQLite. */
const DAY = `created_at / ${DAY_MS}`;

/**
 * In SQLite the table `days` of a statement: the days of `:from`, of `:created_at` and between on which any merchant has
 * records with phone numbers, newest first, after a day that has none. Each is found with one look into the index.
 */
const withDays = (table: string) => `WITH RECURSIVE days (day) AS (SELECT :created_at / ${DAY_MS} + 1 UNION ALL
  SELECT (SELECT max(${DAY}) FROM ${table} WHERE ${DAY} < day AND phone_number IS NOT NULL) FROM days
  WHERE day > :from / ${DAY_MS})`;

/** Returns a function that finds a merchant's record by the service's reference. */
function recordFinder<T extends Payment>({ finder }: Pick<Executor, "finder">, { table }: RecordTable) {
  const select = `SELECT * FROM ${table} WHERE merchant_id = given.merchant_id AND reference = given.reference LIMIT 1`;
  const find = finder(select, columnsOf(table, ["merchant_id", "reference"]));
  return async (merchant_id: string, reference: string): Promise<T | undefined> => {
    const row = await find({ merchant_id, reference });
    return row && toRecord<T>(row);
  };
}

/** Returns a function that reads the pages of a list of records, newest first. */
function recordList<T extends Payment>(executor: Executor, { table, statuses }: RecordTable) {
  const { database, read } = executor;
  const { key, least, columns } = KEYS[database];
  const ORDER = `ORDER BY created_at DESC, ${key} DESC`;
  const inRange = (condition: string) => `SELECT ${columns} FROM ${table} WHERE merchant_id = :merchant
    AND created_at >= :from AND (created_at, ${key}) < (:created_at, :${key}::uuid) AND ${condition}`;
  const few = (condition: string) => `${inRange(condition)} AND (:status::text IS NULL OR status = :status)`;
  const OF_PHONE = "phone_number = :phone";
  const DAYS = `${withDays(table)} SELECT day FROM days WHERE EXISTS (${few(`${OF_PHONE} AND ${DAY} = day`)})`;
  const OF_DAY = `${few(`${OF_PHONE} AND ${DAY} = :day`)} ${ORDER} LIMIT :limit`;

  async function readDays(values: NonNullable<Query["values"]>, most: number): Promise<Row[]> {
    const found: Row[] = [];
    for (const { day } of await read({ text: DAYS, values })) {
      if (found.length === most) break;
      found.push(...(await read({ text: OF_DAY, values: { ...values, day, limit: most - found.length } })));
    }
    return found;
  }

  function statement({ merchantsReference, phoneNumber, status }: RecordQuery): string {
    // At most one record has the reference.
    if (merchantsReference !== undefined) return `${few("merchants_reference = :reference")} LIMIT :limit`;
    if (phoneNumber !== undefined) return `${few(OF_PHONE)} ${ORDER} LIMIT :limit`;
    const end = `${ORDER} LIMIT :limit`;
    if (status !== undefined) return `${inRange("status = :status")} ${end}`;
    // The index has one range for each status, so a list of all statuses merges the ranges. PostgreSQL would read and sort
    // the whole of a part without an end of its own.
    const ranges = statuses.map((each) => inRange(`status = '${each}'`));
    const parts = database === "postgres" ? ranges.map((range) => `(${range} ${end})`) : ranges;
    return `${parts.join(" UNION ALL ")} ${end}`;
  }

  return async (query: RecordQuery): Promise<Page<T>> => {
    const { merchantId: merchant, merchantsReference: reference, phoneNumber: phone, status } = query;
    const { createdAfter: from = 0, createdBefore = LAST } = query;
    const start = { created_at: createdBefore, [key]: least };
    const asked = { ...query, list: table, scope: merchant, start };
    const most = query.limit + 1;
    const values = { ...placeOf(asked), merchant, from, reference, phone, status, limit: most };
    const isByDay = database === "sqlite" && reference === undefined && phone !== undefined;
    const found = isByDay ? await readDays(values, most) : await read({ text: statement(query), values });
    return toPage(asked, found, toRecord<T>);
  };
}

/**
 * How many payments of a phone number a search reads to find the newest payments. The number is limited, so that a
 * search is not slow.
 */
const MOST = 1_000;
const CURRENT = "r.merchant_id = m.id";
/** The statements read one range of an index for each merchant: CROSS JOIN makes SQLite begin with the merchants. */
const ofMerchants = (table: string, condition: string) =>
  `SELECT r.* FROM merchants m CROSS JOIN ${table} r WHERE ${CURRENT} AND r.${condition}`;
/** In SQLite one range for each day. */
const ofDays = (table: string) => `${withDays(table)} SELECT r.* FROM days CROSS JOIN ${table} r CROSS JOIN merchants m
  WHERE r.${DAY} = day AND r.phone_number = :phone AND ${CURRENT}`;

const find = (table: string, ofPhone: string) =>
  [ofMerchants(table, "reference = :text"), ofMerchants(table, "merchants_reference = :text"), ofPhone]
    .map((select) => `SELECT * FROM (${select} LIMIT ${MOST}) AS found`)
    .join(" UNION ") + " ORDER BY created_at DESC LIMIT :limit";

const FIND = KINDS.map((kind) => {
  const { table } = RECORDS[kind];
  return { sqlite: find(table, ofDays(table)), postgres: find(table, ofMerchants(table, "phone_number = :phone")) };
});

const COUNT_REFUSAL = `INSERT INTO refusals AS r (merchant_id, merchants_reference, count)
  VALUES (:merchant, :reference, 1)
  ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`;

const WAITS = "d.approval IS NOT NULL AND d.status = 'pending'";
const LIST_WAITING = (which: string) => `SELECT d.* FROM disbursements d WHERE ${WAITS} ${which}
  ORDER BY d.created_at, d.reference LIMIT :limit`;
const LOCK_WAITING = `SELECT d.* FROM disbursements d
  WHERE d.merchant_id = :merchant AND d.reference = :reference AND ${WAITS} FOR UPDATE`;
const SELECT_PUBLIC = "SELECT * FROM checkouts WHERE reference = :reference";
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const lockPending = (table: string) => `SELECT * FROM ${table}
  WHERE merchant_id = :merchant AND reference = :reference AND status = 'pending' FOR UPDATE`;
const LOCK_CHECKOUT = lockPending("checkouts");
const LOCK_DISBURSEMENT = lockPending("disbursements");

type OfOthers = "insertDisbursement" | "insertCheckout" | "loadPayments";
export function payments(executor: Executor): Omit<RecordStore, OfOthers> {
  const { read, write } = executor;

  /** Changes a checkout. Resolves with false if none that is pending has this reference, or `change` returns nothing. */
  const changePending = (
    reference: string,
    lock: Lock,
    change: (row: Row, merchant: LockedMerchant) => Work<unknown> | undefined,
  ): Promise<boolean> =>
    write(function* () {
      const [found] = (yield* run(SELECT_PUBLIC, { reference })).rows;
      if (!found) return false;
      const merchant = yield* lockMerchant(found.merchant_id, lock);
      const [row] = (yield* run(LOCK_CHECKOUT, { merchant: merchant.id, reference })).rows;
      const work = row && change(row, merchant);
      if (work) yield* work;
      return work !== undefined;
    });

  return {
    findDisbursement: recordFinder<Disbursement>(executor, RECORDS.disbursement),
    listDisbursements: recordList<Disbursement>(executor, RECORDS.disbursement),
    countRefusal: (merchant, reference) =>
      write(
        function* () {
          return (yield* run(COUNT_REFUSAL, { merchant, reference })).rows[0]!.count;
        },
        { isAside: true },
      ),
    async listWaiting({ merchantId: merchant, limit }) {
      const which = merchant === undefined ? "" : "AND d.merchant_id = :merchant";
      return (await read({ text: LIST_WAITING(which), values: { merchant, limit } })).map(toRecord<Disbursement>);
    },
    decideApproval: (merchantId, reference, actor, rejection) =>
      write(function* (): Work<Decided> {
        const merchant = (yield* lockMerchants([merchantId], "orders")).get(merchantId);
        if (!merchant) return "not-waiting";
        const place = { merchant: merchantId, reference };
        const [row] = (yield* run(LOCK_WAITING, place)).rows;
        const record = row && toRecord<Disbursement>(row);
        // A payout whose time is over is about to fail.
        if (!record?.approval || record.due!.at <= merchant.now) return "not-waiting";
        const chain = yield* chainOf(actor, merchantId);
        const refused = mayDecide(record.approval, merchant, chain, rejection === undefined);
        if (refused) return refused;
        const { plan } = record.approval;
        const approved = { merchant_id: merchantId, reference, approval: null, ...dueValues(plan, merchant.now) };
        const entry = { actor, merchantId, details: { reference } };
        if (rejection === undefined) {
          yield [
            updateRows("disbursements", ["merchant_id", "reference"], [approved]),
            handOver([{ draft: plan, record, merchant }]),
          ];
          yield* recordAction({ ...entry, action: "payment.approve" });
        } else {
          yield* endNow([{ kind: "disbursement", reference, merchant, status: "failed", failure: record.failure }]);
          yield* recordAction({ ...entry, action: "payment.reject", details: { reference, reason: rejection } });
        }
        return "decided";
      }),
    async searchPayments({ text, phoneNumber: phone = "", limit }) {
      const values = { text, phone, from: 0, created_at: LAST, limit };
      const found = (await Promise.all(FIND.map((statement) => read({ text: statement, values })))).flat();
      return found.map(toRecord<Payment>).toSorted((a, b) => b.createdAt - a.createdAt);
    },
    findCheckout: recordFinder<Checkout>(executor, RECORDS.checkout),
    listCheckouts: recordList<Checkout>(executor, RECORDS.checkout),
    async findPublicCheckout(reference) {
      const [found] = await read({ text: SELECT_PUBLIC, values: { reference } });
      if (!found) return undefined;
      const [merchant] = await read({ text: SELECT_MERCHANT, values: { merchant: found.merchant_id } });
      return { checkout: toRecord(found), merchant: toMerchant(merchant!) };
    },
    payCheckout: (reference, phone, due, failure) =>
      changePending(reference, "shares", (row, locked) => {
        if (row.customer_id !== null) return undefined;
        const customer_id = customerOf(locked, phone).id;
        const payer = { merchant_id: locked.id, reference, customer_id, phone_number: phone };
        const updated_at = Math.max(row.updated_at, sandboxTime(locked, locked.now));
        const paid = { ...payer, updated_at, ...dueValues({ due, failure }, locked.now) };
        return runAll([updateRows("checkouts", ["merchant_id", "reference"], [paid])]);
      }),
    finishDisbursement: (merchantId, reference, status, failure) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "orders");
        const [row] = (yield* run(LOCK_DISBURSEMENT, { merchant: merchantId, reference })).rows;
        const record = row && toRecord<Disbursement>(row);
        if (!record || record.approval) return false;
        const why = status === "failed" ? (failure ?? record.failure ?? failureOf("declined")) : undefined;
        yield* endNow([{ kind: "disbursement", reference, merchant, status, failure: why }]);
        return true;
      }),
    finishCheckout: (reference, status, failure) =>
      changePending(reference, "orders", (_, merchant) =>
        endNow([{ kind: "checkout", reference, merchant, status, failure }]),
      ),
    cancelCheckout: (reference) =>
      changePending(reference, "orders", (row, merchant) =>
        row.customer_id === null ? endNow([{ kind: "checkout", reference, merchant, status: "cancelled" }]) : undefined,
      ),
  };
}
