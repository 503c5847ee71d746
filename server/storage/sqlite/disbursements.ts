import type { DisbursementStore, Disbursement } from "../../domain/disbursements.ts";
import { insertInto, type Context } from "./context.ts";
import { customers } from "./customers.ts";
import { recordList } from "./record-lists.ts";
import { DISBURSEMENT_COLUMNS, recorded, toDisbursement, toValues } from "../record-rows.ts";

const STATUSES: readonly Disbursement["status"][] = ["pending", "success", "failed"];

export function disbursements({ db, writeNew, read, now, dated, merchantOf, events }: Context): DisbursementStore {
  const list = recordList({ db, merchantOf }, { table: "disbursements", statuses: STATUSES, toRecord: toDisbursement });
  const customerFor = customers(db);
  const select = db.prepare("SELECT * FROM disbursements WHERE reference = ?");
  const selectByMerchants = db.prepare(
    "SELECT * FROM disbursements WHERE merchant_id = ? AND epoch = ? AND merchants_reference = ?",
  );
  const insert = insertInto(db, "disbursements", DISBURSEMENT_COLUMNS);
  const countRefusal = db.prepare(
    `INSERT INTO refusals (merchant_id, epoch, merchants_reference, count) VALUES (?, ?, ?, 1)
     ON CONFLICT (merchant_id, epoch, merchants_reference) DO UPDATE SET count = count + 1 RETURNING count`,
  );

  return {
    insertDisbursement: (draft) =>
      writeNew(() => {
        const merchant = merchantOf(draft.merchantId)!;
        const existing = selectByMerchants.get(merchant.id, merchant.epoch, draft.merchantsReference);
        if (existing) return { inserted: false, record: toDisbursement(existing) };
        const customer = customerFor(merchant, draft.customer);
        const date = dated();
        const record = recorded<Disbursement>({ ...draft, customer }, merchant, date);
        insert(toValues(record, merchant, date - now()));
        if (record.status !== "pending") events.insert(record, merchant);
        return { inserted: true, record };
      }),
    async findDisbursement(merchantId, reference) {
      const row = read(() => select.get(reference));
      const isCurrent = row?.merchant_id === merchantId && row.epoch === merchantOf(merchantId)?.epoch;
      return isCurrent ? toDisbursement(row!) : undefined;
    },
    async findDisbursementByMerchantsReference(merchantId, merchantsReference) {
      const row = selectByMerchants.get(merchantId, merchantOf(merchantId)!.epoch, merchantsReference);
      return row && toDisbursement(row);
    },
    async listDisbursements(query) {
      return read(() => list(query));
    },
    countRefusal: (merchantId, merchantsReference) =>
      writeNew(() => {
        const { epoch } = merchantOf(merchantId)!;
        return countRefusal.get(merchantId, epoch, merchantsReference)!.count as number;
      }),
  };
}
