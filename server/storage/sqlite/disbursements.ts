import type { DisbursementStore } from "../../domain/storage.ts";
import type { Disbursement } from "../../domain/types.ts";
import { insertInto, type Context } from "./context.ts";
import { customers } from "./customers.ts";
import { DISBURSEMENT_COLUMNS, recorded, toDisbursement, toValues } from "./record-rows.ts";

/** Rows of a merchant's current epoch. */
const CURRENT = "FROM disbursements d JOIN merchants m ON m.id = d.merchant_id AND m.epoch = d.epoch";

export function disbursements({ db, write, now, merchantOf, events }: Context): DisbursementStore {
  const customerFor = customers(db);
  const select = db.prepare(`SELECT d.* ${CURRENT} WHERE d.reference = ?`);
  const selectByMerchants = db.prepare(`SELECT d.* ${CURRENT} WHERE d.merchant_id = ? AND d.merchants_reference = ?`);
  const selectInEpoch = db.prepare(
    "SELECT * FROM disbursements WHERE merchant_id = ? AND epoch = ? AND merchants_reference = ?",
  );
  const insert = insertInto(db, "disbursements", DISBURSEMENT_COLUMNS);
  const countRefusal = db.prepare(
    `INSERT INTO refusals (merchant_id, epoch, merchants_reference, count) VALUES (?, ?, ?, 1)
     ON CONFLICT (merchant_id, epoch, merchants_reference) DO UPDATE SET count = count + 1 RETURNING count`,
  );

  return {
    insertDisbursement: (draft) =>
      write(() => {
        const merchant = merchantOf(draft.merchantId)!;
        const existing = selectInEpoch.get(merchant.id, merchant.epoch, draft.merchantsReference);
        if (existing) return { inserted: false, record: toDisbursement(existing) };
        const customer = customerFor(merchant, draft.customer);
        const record = recorded<Disbursement>({ ...draft, customer }, merchant, now());
        insert(toValues(record, merchant));
        if (record.status !== "pending") events.insert(record, merchant);
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
    countRefusal: (merchantId, merchantsReference) =>
      write(() => {
        const { epoch } = merchantOf(merchantId)!;
        return countRefusal.get(merchantId, epoch, merchantsReference)!.count as number;
      }),
  };
}
