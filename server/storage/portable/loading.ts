// Loads records of the past into a sandbox (D112).
import { ServiceError } from "../../domain/errors.ts";
import { suspension } from "../../domain/merchants.ts";
import type { RecordStore } from "../../domain/payments.ts";
import { duplicate, kindOf, type Payment } from "../../domain/records.ts";
import { customerOf, KINDS, RECORDS, toRecord, toValues, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { ended, openQuery, reserved, toBooks, type Entry } from "./booking.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { insertRows, run, type Executor, type Work } from "./query.ts";

const FIND = (table: string) => `SELECT * FROM ${table}
  WHERE merchant_id = :merchant AND merchants_reference = ANY(:references::text[]) LIMIT 1`;
/** How many entries a load may number again, because SQLite blocks the event loop meanwhile. */
const MOST_LATER = 20_000;
const AMOUNTS = ["available", "reserved", "fees", "outside"] as const;
/** Amounts are read as text, because an integer of SQLite can exceed the safe integers of JavaScript. */
const LATER = `SELECT merchant_id, currency, reference, at, kind,
    ${AMOUNTS.map((name) => `CAST(${name} AS text) AS ${name}`).join(", ")}
  FROM entries WHERE merchant_id = :merchant AND at >= :from AND currency = ANY(:currencies::text[])
  ORDER BY at, currency, number LIMIT ${MOST_LATER + 1}`;
const REPLACE =
  "ON CONFLICT (merchant_id, reference, kind) DO UPDATE SET number = excluded.number, balance = excluded.balance";
/** Otherwise the erasure of phone numbers would have passed the records. */
const ERASE_AGAIN = "DELETE FROM erasures WHERE merchant_id = :merchant";

export function loading({ write }: Executor): Pick<RecordStore, "loadPayments"> {
  return {
    loadPayments: (merchantId, past, actor) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        const refusal = suspension(merchant);
        if (refusal) throw refusal;
        const records = past.map(({ phoneNumber: number, ...record }) => {
          return { ...record, ...(number !== undefined && { customer: customerOf(merchant, number) }) } as Payment;
        });
        const details: Record<string, string> = {};
        for (const kind of KINDS) {
          const { table } = RECORDS[kind];
          const own = records.filter((record) => kindOf(record) === kind);
          const references = own.map(({ merchantsReference }) => merchantsReference);
          const { rows } = yield* run(FIND(table), { merchant: merchantId, references });
          if (rows[0]) throw duplicate(kind, toRecord(rows[0]));
          yield [insertRows(table, own.map(toValues))];
          details[table] = String(own.length);
        }
        if (records.length > 0) yield* bookPast(merchantId, records.flatMap(entriesOf));
        yield* run(ERASE_AGAIN, { merchant: merchantId });
        yield* recordAction({ actor, action: "sandbox.load", merchantId, details });
      }),
  };
}

/** What a record has changed in the books: a payout when it was created, and a final record when it became final. */
function entriesOf(record: Payment): Entry[] {
  const created = kindOf(record) === "disbursement" ? [{ ...reserved(record), at: record.createdAt }] : [];
  return record.status === "pending" ? created : [...created, ...ended(record)];
}

const amountsOf = (row: Row) => Object.fromEntries(AMOUNTS.map((name) => [name, BigInt(row[name])]));

/** Books entries at their times: takes the later ones back, and books all of them in order. */
function* bookPast(merchant: string, entries: readonly Entry[]): Work<void> {
  const from = Math.min(...entries.map(({ at }) => at));
  const currencies = [...new Set(entries.map(({ currency }) => currency))];
  const [opened, { rows } = { rows: [] }] = yield [
    openQuery(entries),
    { text: LATER, values: { merchant, from, currencies } },
  ];
  const message = `More than ${MOST_LATER} entries of the statement are later than these records. Reset the sandbox first.`;
  if (rows.length > MOST_LATER) throw new ServiceError("invalid_value", message);
  const later = rows.map((row) => ({ ...row, ...amountsOf(row) }) as Entry);
  const books = toBooks(opened!);
  later.forEach(books.takeBack);
  [...later, ...entries].toSorted((a, b) => a.at - b.at).forEach(books.add);
  yield books.queries(REPLACE);
}
