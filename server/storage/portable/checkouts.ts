import type { CheckoutStore } from "../../domain/checkouts.ts";
import type { Failure, FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { customerOf, dueValues, failureValue, RECORDS, toCheckout } from "../record-rows.ts";
import { toMerchant, type Row } from "../rows.ts";
import { lockMerchant, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Work } from "./query.ts";
import { recordFinder, recordList } from "./record-lists.ts";
import { settleAll } from "./settling.ts";

const SELECT_PUBLIC = "SELECT * FROM checkouts WHERE reference = :reference";
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const LOCK_PENDING = `SELECT * FROM checkouts
  WHERE merchant_id = :merchant AND reference = :reference AND status = 'pending' FOR UPDATE`;
const PAY = `UPDATE checkouts SET customer_id = :customer, phone_number = :phone, due_at = :due_at, due_status = :due_status,
  failure = :failure, updated_at = greatest(updated_at, :at) WHERE merchant_id = :merchant AND reference = :reference`;

function* finish(reference: string, status: FinalStatus, merchant: LockedMerchant, failure?: Failure): Work<true> {
  yield* settleAll([{ kind: "checkout", reference, merchant, status, failure }]);
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
        const merchant = locked.id;
        const customer = customerOf(locked, phone).id;
        const at = sandboxTime(locked, locked.now);
        const ends = { ...dueValues(due, locked.now), failure: failureValue(failure) };
        yield* run(PAY, { merchant, reference, customer, phone, at, ...ends });
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
