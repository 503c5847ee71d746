import type { CheckoutStore, Checkout } from "../../domain/checkouts.ts";
import { sandboxTime } from "../../domain/time.ts";
import type { Customer, Draft, DueAfter } from "../../domain/records.ts";
import { dueValues, recorded, toCheckout } from "../record-rows.ts";
import { toMerchant, type Row } from "../rows.ts";
import type { Context } from "./context.ts";
import { findOrCreateCustomers } from "./customers.ts";
import type { Query } from "./database.ts";
import { writeEvents } from "./events.ts";
import { recordInserter } from "./insertions.ts";
import type { Lock, LockedMerchant } from "../portable/locked-merchant.ts";
import { lockMerchant, lockMerchants, required } from "./merchant-rows.ts";
import { CHECKOUT_COLUMNS } from "./record-columns.ts";
import { recordFinder } from "./record-finder.ts";
import { recordList } from "./record-lists.ts";

const STATUSES: readonly Checkout["status"][] = ["pending", "success", "failed", "cancelled"];
const TABLE = { table: "checkouts", columns: CHECKOUT_COLUMNS, toRecord: toCheckout } as const;
const insertRecords = recordInserter(TABLE);

export function checkouts(context: Context): CheckoutStore {
  const { db, lane } = context;
  const insert = lane(
    (drafts: Draft<Checkout>[], queries) =>
      queries.transaction((query) => insertAll(query, drafts), { ...REPEATABLE, items: drafts.length }),
    {
      concurrency: 1,
      largest: 512,
    },
  );
  /** Changes a pending checkout. Resolves with false if there is none with this reference, or `change` refuses. */
  const changePending = (
    reference: string,
    lock: Lock,
    change: (query: Query, row: Row, merchant: LockedMerchant) => Promise<boolean>,
  ) =>
    db.transaction(async (query) => {
      const found = await lockPending(query, reference, lock);
      return found !== undefined && change(query, found.row, found.merchant);
    });

  return {
    insertCheckout: insert,
    findCheckout: recordFinder(context, TABLE),
    listCheckouts: recordList(context, { ...TABLE, statuses: STATUSES }),
    async findPublicCheckout(reference) {
      const [found] = (await db.read(SELECT_PUBLIC, [reference])).rows;
      if (!found) return undefined;
      const { rows } = await db.read("SELECT * FROM merchants WHERE id = $1", [found.merchant_id]);
      return { checkout: toCheckout(found), merchant: toMerchant(rows[0]!) };
    },
    payCheckout: (reference, candidate, due) =>
      changePending(reference, "shares", async (query, row, merchant) => {
        if (row.customer_id !== null) return false;
        await setPayer(query, { reference, merchant, candidate, due });
        return true;
      }),
    finishCheckout: (reference, status) =>
      changePending(reference, "orders", async (query, _, merchant) => {
        await finish(query, reference, status, merchant);
        return true;
      }),
    cancelCheckout: (reference) =>
      changePending(reference, "orders", async (query, row, merchant) => {
        if (row.customer_id !== null) return false;
        await finish(query, reference, "cancelled", merchant);
        return true;
      }),
  };
}

/** A checkout that was inserted already is recognised by its id. */
const REPEATABLE = { repeatable: true };

async function insertAll(query: Query, drafts: readonly Draft<Checkout>[]) {
  const ids = drafts.map(({ merchantId }) => merchantId);
  const merchants = await lockMerchants(query, ids, "shares");
  const items = drafts.map((draft) => {
    const merchant = required(merchants, draft.merchantId);
    return { record: recorded<Checkout>(draft, merchant, merchant.dated), merchant };
  });
  return insertRecords(query, items);
}

const SELECT_PUBLIC = `SELECT c.* FROM checkouts c JOIN merchants m ON m.id = c.merchant_id AND m.epoch = c.epoch
  WHERE c.reference = $1`;

/** Locks the merchant of a checkout, then the checkout. Resolves with undefined unless the checkout is pending. */
async function lockPending(query: Query, reference: string, lock: Lock) {
  const [found] = (await query(SELECT_PUBLIC, [reference])).rows;
  if (!found) return undefined;
  const merchantId = found.merchant_id as string;
  const merchant = await lockMerchant(query, merchantId, lock);
  const { rows } = await query(
    `SELECT * FROM checkouts WHERE merchant_id = $1 AND reference = $2 AND epoch = $3 AND status = 'pending' FOR UPDATE`,
    [merchantId, reference, merchant.epoch],
  );
  return rows[0] && { row: rows[0], merchant };
}

interface Payment {
  reference: string;
  merchant: LockedMerchant;
  candidate: Customer;
  due: DueAfter | undefined;
}

async function setPayer(query: Query, { reference, merchant, candidate, due }: Payment): Promise<void> {
  const [customer] = await findOrCreateCustomers(query, [{ merchantId: merchant.id, customer: candidate }]);
  const { due_at, due_real, due_status } = dueValues(due, merchant, merchant.now);
  const at = sandboxTime(merchant, merchant.now);
  await query(
    `UPDATE checkouts SET customer_id = $3, phone_number = $4, due_at = $5, due_real = $6, due_status = $7,
       updated_at = greatest(updated_at, $8) WHERE merchant_id = $1 AND reference = $2`,
    [merchant.id, reference, customer!.id, customer!.phoneNumber, due_at, due_real, due_status, at],
  );
}

async function finish(query: Query, reference: string, status: string, merchant: LockedMerchant): Promise<void> {
  const { rows } = await query(
    `UPDATE checkouts SET status = $3, due_at = NULL, due_real = NULL, due_status = NULL,
       updated_at = greatest(updated_at, $4) WHERE merchant_id = $1 AND reference = $2 RETURNING *`,
    [merchant.id, reference, status, sandboxTime(merchant, merchant.now)],
  );
  await writeEvents(query, [{ record: toCheckout(rows[0]!), merchant }]);
}
