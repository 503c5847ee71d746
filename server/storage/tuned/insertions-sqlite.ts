import type { Checkout, CheckoutStore } from "../../domain/checkouts.ts";
import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import { insufficientFunds } from "../../domain/ledger.ts";
import { handoverValues } from "../portable/handover-rows.ts";
import { limited, looked, refusalFor, refusalOf } from "../limit-rows.ts";
import { reserved } from "../ledger-rows.ts";
import { customerOf, recorded, toCheckout, toDisbursement, toValues } from "../record-rows.ts";
import { insertInto, type Context } from "../sqlite/context.ts";
import { dailySums } from "./limits-sqlite.ts";

type Insertions = Pick<DisbursementStore, "insertDisbursement"> & Pick<CheckoutStore, "insertCheckout">;

export function insertions(context: Context): Insertions {
  const { db, writeNew, now, ledger, cache, merchantOf, writeEvent } = context;
  const selectExisting = (table: string) =>
    db.prepare(`SELECT * FROM ${table} WHERE merchant_id = ? AND merchants_reference = ?`);
  const selectDisbursement = selectExisting("disbursements");
  const selectCheckout = selectExisting("checkouts");
  const insertDisbursement = insertInto(db, "disbursements");
  const insertCheckout = insertInto(db, "checkouts");
  const insertHandover = insertInto(db, "handovers");

  const { usedIn, addToSum } = dailySums(db);
  const keyOf = ({ keyId }: { keyId?: string }) => (keyId === undefined ? undefined : cache.keyOf(keyId));

  /** Writes the hand-over of a new record to its rail, if it has one. */
  function handOver(record: Disbursement | Checkout, rail: string | undefined) {
    if (rail !== undefined) insertHandover(handoverValues(record, rail, now()));
  }

  return {
    insertDisbursement: (asked) =>
      writeNew(() => {
        const merchant = merchantOf(asked.merchantId)!;
        const date = now();
        const key = keyOf(asked);
        const { bounds, draft } = limited(asked, merchant, key, date);
        const record = recorded<Disbursement>(
          { ...draft, customer: customerOf(merchant, draft.customer.phoneNumber) },
          merchant,
          date,
        );
        const existing = selectDisbursement.get(merchant.id, asked.merchantsReference);
        const found = looked(record, refusalFor(asked, merchant, key), existing && toDisbursement(existing));
        if (found) return found;
        const reservation = reserved(record, merchant);
        const { available, enforced } = ledger.accountOf(reservation);
        const mustBeCovered = draft.mustBeCovered || enforced;
        const refusal =
          refusalOf(record, bounds, usedIn) ??
          (mustBeCovered && available + reservation.available < 0n ? insufficientFunds(record) : undefined);
        if (refusal) return { inserted: false, record, refusal };
        for (const { daily } of bounds) if (daily) addToSum(daily);
        insertDisbursement(toValues(record));
        ledger.book([reservation]);
        if (record.status !== "pending") writeEvent({ record, merchant });
        handOver(record, draft.rail);
        return { inserted: true, record };
      }),
    insertCheckout: (draft) =>
      writeNew(() => {
        const merchant = merchantOf(draft.merchantId)!;
        const date = now();
        const record = recorded<Checkout>(draft, merchant, date);
        const existing = selectCheckout.get(merchant.id, draft.merchantsReference);
        const found = looked(record, refusalFor(draft, merchant, keyOf(draft)), existing && toCheckout(existing));
        if (found) return found;
        insertCheckout(toValues(record));
        handOver(record, draft.rail);
        return { inserted: true, record };
      }),
  };
}
