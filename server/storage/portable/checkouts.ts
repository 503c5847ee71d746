import type { CheckoutStore } from "../../domain/checkouts.ts";
import type { Failure, FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { customerOf, dueValues, RECORDS, toCheckout } from "../record-rows.ts";
import { toMerchant, type Row } from "../rows.ts";
import { lockMerchant, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import { run, updateRows, type Executor, type Work } from "./query.ts";
import { recordFinder, recordList } from "./record-lists.ts";
import { endNow } from "./settling.ts";

const SELECT_PUBLIC = "SELECT * FROM checkouts WHERE reference = :reference";
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const LOCK_PENDING = `SELECT * FROM checkouts
  WHERE merchant_id = :merchant AND reference = :reference AND status = 'pending' FOR UPDATE`;

function* finish(reference: string, status: FinalStatus, merchant: LockedMerchant, failure?: Failure): Work<true> {
  yield* endNow([{ kind: "checkout", reference, merchant, status, failure }]);
  return true;
}

export function checkouts(executor: Executor): Omit<CheckoutStore, "insertCheckout"> {
  const { read, write } = executor;

  /** Changes a pending checkout. Resolves with false if no pending checkout has this reference, or `change` refuses. */
  const changePending = (
    reference: string,
    lock: Lock,
    change: (row: Row, merchant: LockedMerchant) => Work<boolean>,
  ): Promise<boolean> =>
    write(function* () {
      const [found] = (yield* run(SELECT_PUBLIC, { reference })).rows;
      if (!found) return false;
      const merchant = yield* lockMerchant(found.merchant_id, lock);
      const [row] = (yield* run(LOCK_PENDING, { merchant: merchant.id, reference })).rows;
      return row !== undefined && (yield* change(row, merchant));
    });

  return {
    findCheckout: recordFinder(executor, RECORDS.checkout),
    listCheckouts: recordList(executor, RECORDS.checkout),
    async findPublicCheckout(reference) {
      const [found] = await read({ text: SELECT_PUBLIC, values: { reference } });
      if (!found) return undefined;
      const [merchant] = await read({ text: SELECT_MERCHANT, values: { merchant: found.merchant_id } });
      return { checkout: toCheckout(found), merchant: toMerchant(merchant!) };
    },
    payCheckout: (reference, phone, due, failure) =>
      changePending(reference, "shares", function* (row, locked) {
        if (row.customer_id !== null) return false;
        const customer_id = customerOf(locked, phone).id;
        const payer = { merchant_id: locked.id, reference, customer_id, phone_number: phone };
        const at = sandboxTime(locked, locked.now);
        const paid = { ...payer, updated_at: Math.max(row.updated_at, at), ...dueValues(due, failure, locked.now) };
        yield [updateRows("checkouts", ["merchant_id", "reference"], [paid])];
        return true;
      }),
    finishCheckout: (reference, status, failure) =>
      changePending(reference, "orders", (_, merchant) => finish(reference, status, merchant, failure)),
    cancelCheckout: (reference) =>
      changePending(reference, "orders", function* (row, merchant) {
        return row.customer_id === null && (yield* finish(reference, "cancelled", merchant));
      }),
  };
}
