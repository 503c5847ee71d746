import type { Checkout, Checkouts } from "../../domain/storage.ts";
import type { Context } from "./context.ts";
import { customers } from "./customers.ts";
import { toMerchant } from "./merchants.ts";
import { toCheckout } from "./records.ts";

export function checkouts({ db, write, events }: Context): Checkouts {
  const customerFor = customers(db);
  const select = db.prepare("SELECT * FROM checkouts WHERE reference = ?");
  const selectByMerchants = db.prepare("SELECT * FROM checkouts WHERE merchant_id = ? AND merchants_reference = ?");
  const selectMerchant = db.prepare("SELECT * FROM merchants WHERE id = ?");
  const insert = db.prepare(
    `INSERT INTO checkouts (id, merchant_id, reference, merchants_reference, amount, fee, country, currency, locale,
       webhook_url, redirect_url, status, created_at, updated_at, due_at, due_status)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const pay = db.prepare(
    `UPDATE checkouts SET customer_id = ?, phone_number = ?, due_at = ?, due_status = ?, updated_at = max(updated_at, ?)
     WHERE reference = ? AND status = 'pending' AND customer_id IS NULL`,
  );
  const finish = db.prepare(
    `UPDATE checkouts SET status = ?, due_at = NULL, due_status = NULL, updated_at = max(updated_at, ?)
     WHERE reference = ? AND status = 'pending' RETURNING *`,
  );
  const cancel = db.prepare(
    `UPDATE checkouts SET status = 'cancelled', due_at = NULL, due_status = NULL, updated_at = max(updated_at, ?)
     WHERE reference = ? AND status = 'pending' AND customer_id IS NULL RETURNING *`,
  );

  function insertRow(c: Checkout) {
    insert.run(
      c.id,
      c.merchantId,
      c.reference,
      c.merchantsReference,
      c.amount,
      c.fee,
      c.country,
      c.currency,
      c.locale,
      c.webhookURL ?? null,
      c.redirectURL ?? null,
      c.status,
      c.createdAt,
      c.updatedAt,
      c.due?.at ?? null,
      c.due?.status ?? null,
    );
  }

  return {
    insertCheckout: (record) =>
      write(() => {
        const existing = selectByMerchants.get(record.merchantId, record.merchantsReference);
        if (existing) return { inserted: false, record: toCheckout(existing) };
        insertRow(record);
        return { inserted: true, record };
      }),
    async findCheckout(merchantId, reference) {
      const row = select.get(reference);
      return row?.merchant_id === merchantId ? toCheckout(row) : undefined;
    },
    async findPublicCheckout(reference) {
      const row = select.get(reference);
      return row && { checkout: toCheckout(row), merchant: toMerchant(selectMerchant.get(row.merchant_id as string)!) };
    },
    payCheckout: (reference, candidate, due, at) =>
      write(() => {
        const row = select.get(reference);
        if (row?.status !== "pending") return false;
        const customer = customerFor(row.merchant_id as string, candidate);
        const { id, phoneNumber } = customer;
        return pay.run(id, phoneNumber, due?.at ?? null, due?.status ?? null, at, reference).changes === 1;
      }),
    finishCheckout: (reference, status, at) =>
      write(() => {
        const row = finish.get(status, at, reference);
        if (row) events.insert("checkout", toCheckout(row), status);
        return row !== undefined;
      }),
    cancelCheckout: (reference, at) =>
      write(() => {
        const row = cancel.get(at, reference);
        if (row) events.insert("checkout", toCheckout(row), "cancelled");
        return row !== undefined;
      }),
  };
}
