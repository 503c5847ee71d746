import type { DisbursementStore, Disbursement } from "../../domain/disbursements.ts";
import type { Insertion, Draft } from "../../domain/records.ts";
import { recorded, toDisbursement } from "../record-rows.ts";
import type { Context } from "./context.ts";
import { findOrCreateCustomers } from "./customers.ts";
import type { Query } from "./database.ts";
import { writeEvents } from "./events.ts";
import { recordInserter } from "./insertions.ts";
import { recordFinder } from "./record-finder.ts";
import { lockMerchant, lockMerchants, required } from "./merchant-rows.ts";
import { DISBURSEMENT_COLUMNS } from "./record-columns.ts";
import { recordList } from "./record-lists.ts";

const STATUSES: readonly Disbursement["status"][] = ["pending", "success", "failed"];
const TABLE = { table: "disbursements", columns: DISBURSEMENT_COLUMNS, toRecord: toDisbursement } as const;
const insertRecords = recordInserter(TABLE);

export function disbursements(context: Context): DisbursementStore {
  const { db, lane } = context;
  // One batch at a time: while it is being committed, the next one fills up.
  const insert = lane(
    (drafts: Draft<Disbursement>[], queries) =>
      queries.transaction((query) => insertAll(query, drafts), { ...REPEATABLE, items: drafts.length }),
    {
      concurrency: 1,
      largest: 512,
    },
  );

  return {
    insertDisbursement: insert,
    findDisbursement: recordFinder(context, TABLE),
    async findDisbursementByMerchantsReference(merchantId, merchantsReference) {
      const { rows } = await db.read(
        `SELECT d.* FROM disbursements d JOIN merchants m ON m.id = d.merchant_id AND m.epoch = d.epoch
         WHERE d.merchant_id = $1 AND d.merchants_reference = $2`,
        [merchantId, merchantsReference],
      );
      return rows[0] && toDisbursement(rows[0]);
    },
    listDisbursements: recordList(context, { ...TABLE, statuses: STATUSES }),
    countRefusal: (merchantId, merchantsReference) =>
      db.transaction(async (query) => {
        const { epoch } = await lockMerchant(query, merchantId, "shares");
        const { rows } = await query(
          `INSERT INTO refusals AS r (merchant_id, epoch, merchants_reference, count) VALUES ($1, $2, $3, 1)
           ON CONFLICT (merchant_id, epoch, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`,
          [merchantId, epoch, merchantsReference],
        );
        return rows[0]!.count as number;
      }),
  };
}

/** A disbursement that was inserted already is recognised by its id. */
const REPEATABLE = { repeatable: true };

async function insertAll(query: Query, drafts: readonly Draft<Disbursement>[]): Promise<Insertion<Disbursement>[]> {
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
  const results = await insertRecords(query, items);
  await writeEvents(
    query,
    items.filter(({ record }, index) => record.status !== "pending" && results[index]!.record === record),
  );
  return results;
}
