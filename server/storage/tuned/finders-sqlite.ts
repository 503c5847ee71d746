import type { CheckoutStore } from "../../domain/checkouts.ts";
import type { DisbursementStore } from "../../domain/disbursements.ts";
import type { MerchantStore } from "../../domain/merchants.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import { toShown, type Row } from "../rows.ts";
import type { Context } from "../sqlite/context.ts";

type Finders = Pick<MerchantStore, "findMerchant" | "findMerchantByKey"> &
  Pick<DisbursementStore, "findDisbursement"> &
  Pick<CheckoutStore, "findCheckout">;

/** Merchants and keys come from memory. */
export function finders({ db, merchantOf, cache }: Context): Finders {
  /** Returns a function that finds a merchant's record by the service's reference. */
  function recordFinder<T>(table: string, toRecord: (row: Row) => T) {
    const select = db.prepare(`SELECT * FROM ${table} WHERE reference = ?`);
    return async (merchantId: string, reference: string): Promise<T | undefined> => {
      const row = select.get(reference);
      return row?.merchant_id === merchantId ? toRecord(row) : undefined;
    };
  }

  return {
    async findMerchantByKey(hash) {
      return cache.ownerOf(hash);
    },
    async findMerchant(id) {
      const found = merchantOf(id);
      return found && toShown(found);
    },
    findDisbursement: recordFinder("disbursements", toDisbursement),
    findCheckout: recordFinder("checkouts", toCheckout),
  };
}
