import type { Disbursement, Disbursements } from "../../domain/storage.ts";
import type { Context } from "./context.ts";
import { customers } from "./customers.ts";
import { toDisbursement } from "./records.ts";

export function disbursements({ db, write, events }: Context): Disbursements {
  const customerFor = customers(db);
  const select = db.prepare("SELECT * FROM disbursements WHERE reference = ?");
  const selectByMerchants = db.prepare("SELECT * FROM disbursements WHERE merchant_id = ? AND merchants_reference = ?");
  const insert = db.prepare(
    `INSERT INTO disbursements (id, merchant_id, reference, merchants_reference, customer_id, phone_number, amount, fee,
       country, currency, webhook_url, status, created_at, updated_at, due_at, due_status)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const countTry = db.prepare(
    `INSERT INTO refused_tries (merchant_id, merchants_reference, tries) VALUES (?, ?, 1)
     ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET tries = tries + 1 RETURNING tries`,
  );

  function insertRow(d: Disbursement) {
    insert.run(
      d.id,
      d.merchantId,
      d.reference,
      d.merchantsReference,
      d.customer.id,
      d.customer.phoneNumber,
      d.amount,
      d.fee,
      d.country,
      d.currency,
      d.webhookURL ?? null,
      d.status,
      d.createdAt,
      d.updatedAt,
      d.due?.at ?? null,
      d.due?.status ?? null,
    );
  }

  return {
    insertDisbursement: (candidate) =>
      write(() => {
        const existing = selectByMerchants.get(candidate.merchantId, candidate.merchantsReference);
        if (existing) return { inserted: false, record: toDisbursement(existing) };
        const record = { ...candidate, customer: customerFor(candidate.merchantId, candidate.customer) };
        insertRow(record);
        if (record.status !== "pending") events.insert("disbursement", record, record.status);
        return { inserted: true, record };
      }),
    async findDisbursement(merchantId, reference) {
      const row = select.get(reference);
      return row?.merchant_id === merchantId ? toDisbursement(row) : undefined;
    },
    async findDisbursementByMerchantsReference(merchantId, merchantsReference) {
      const row = selectByMerchants.get(merchantId, merchantsReference);
      return row && toDisbursement(row);
    },
    countTry: (merchantId, ref) => write(() => countTry.get(merchantId, ref)!.tries as number),
  };
}
