import { sandboxTime } from "../../domain/time.ts";
import type { CheckoutStore, Checkout } from "../../domain/checkouts.ts";
import { insertInto, type Context, type Row } from "./context.ts";
import { customers } from "./customers.ts";
import { recordList } from "./record-lists.ts";
import { CHECKOUT_COLUMNS, dueValues, recorded, toCheckout, toValues } from "../record-rows.ts";

const STATUSES: readonly Checkout["status"][] = ["pending", "success", "failed", "cancelled"];

export function checkouts({ db, write, writeNew, read, now, dated, merchantOf, events }: Context): CheckoutStore {
  const list = recordList({ db, merchantOf }, { table: "checkouts", statuses: STATUSES, toRecord: toCheckout });
  const customerFor = customers(db);
  const selectAny = db.prepare("SELECT * FROM checkouts WHERE reference = ?");
  const selectByMerchants = db.prepare(
    "SELECT * FROM checkouts WHERE merchant_id = ? AND epoch = ? AND merchants_reference = ?",
  );
  const insert = insertInto(db, "checkouts", CHECKOUT_COLUMNS);
  const pay = db.prepare(
    `UPDATE checkouts SET customer_id = :customer, phone_number = :phone, due_at = :due_at, due_real = :due_real,
       due_status = :due_status, updated_at = max(updated_at, :at) WHERE reference = :reference`,
  );
  const finish = db.prepare(
    `UPDATE checkouts SET status = ?, due_at = NULL, due_real = NULL, due_status = NULL, updated_at = max(updated_at, ?)
     WHERE reference = ? RETURNING *`,
  );

  /** Returns the row of a checkout, unless a reset has deleted the checkout. */
  function select(reference: string): Row | undefined {
    const row = selectAny.get(reference);
    return row && row.epoch === merchantOf(row.merchant_id as string)?.epoch ? row : undefined;
  }

  /** Returns the row and its merchant if the checkout is pending. */
  function pending(reference: string) {
    const row = select(reference);
    return row?.status === "pending" ? { row, merchant: merchantOf(row.merchant_id as string)! } : undefined;
  }

  function end(reference: string, status: string, mayEnd: (row: Row) => boolean): boolean {
    const found = pending(reference);
    if (!found || !mayEnd(found.row)) return false;
    const row = finish.get(status, sandboxTime(found.merchant, now()), reference)!;
    events.insert(toCheckout(row), found.merchant);
    return true;
  }

  return {
    insertCheckout: (draft) =>
      writeNew(() => {
        const merchant = merchantOf(draft.merchantId)!;
        const existing = selectByMerchants.get(merchant.id, merchant.epoch, draft.merchantsReference);
        if (existing) return { inserted: false, record: toCheckout(existing) };
        const date = dated();
        const record = recorded(draft, merchant, date);
        insert(toValues(record, merchant, date - now()));
        return { inserted: true, record };
      }),
    async findCheckout(merchantId, reference) {
      const row = read(() => select(reference));
      return row?.merchant_id === merchantId ? toCheckout(row) : undefined;
    },
    async listCheckouts(query) {
      return read(() => list(query));
    },
    async findPublicCheckout(reference) {
      const row = read(() => select(reference));
      if (!row) return undefined;
      const { epoch: _, ...merchant } = merchantOf(row.merchant_id as string)!;
      return { checkout: toCheckout(row), merchant };
    },
    payCheckout: (reference, candidate, due) =>
      write(() => {
        const found = pending(reference);
        if (!found || found.row.customer_id !== null) return false;
        const { merchant } = found;
        const { id: customer, phoneNumber: phone } = customerFor(merchant, candidate);
        const at = sandboxTime(merchant, now());
        pay.run({ ...dueValues(due, merchant, now()), customer, phone, at, reference });
        return true;
      }),
    finishCheckout: (reference, status) => write(() => end(reference, status, () => true)),
    cancelCheckout: (reference) => write(() => end(reference, "cancelled", (row) => row.customer_id === null)),
  };
}
