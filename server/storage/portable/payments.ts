import { mayDecide, type Decided, type RecordStore } from "../../domain/payments.ts";
import type { Checkout, Disbursement, Failure, FinalStatus } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { customerOf, dueValues, RECORDS, toRecord } from "../record-rows.ts";
import { toMerchant, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { handoverValues } from "./inserting.ts";
import { lockMerchant, lockMerchants, type Lock, type LockedMerchant } from "./locked-merchant.ts";
import { insertNew, run, runAll, updateRows, type Executor, type Work } from "./query.ts";
import { recordFinder, recordList } from "./record-lists.ts";
import { endNow } from "./settling.ts";
import { chainOf } from "./sign-in.ts";

const COUNT_REFUSAL = `INSERT INTO refusals AS r (merchant_id, merchants_reference, count)
  VALUES (:merchant, :reference, 1)
  ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`;

const WAITS = "d.approval IS NOT NULL AND d.status = 'pending'";
const LIST_WAITING = (which: string) => `SELECT d.* FROM disbursements d WHERE ${WAITS} ${which}
  ORDER BY d.created_at, d.reference LIMIT :limit`;
const LOCK_WAITING = `SELECT d.* FROM disbursements d
  WHERE d.merchant_id = :merchant AND d.reference = :reference AND ${WAITS} FOR UPDATE`;
const SELECT_PUBLIC = "SELECT * FROM checkouts WHERE reference = :reference";
const SELECT_MERCHANT = "SELECT * FROM merchants WHERE id = :merchant";
const LOCK_PENDING = `SELECT * FROM checkouts
  WHERE merchant_id = :merchant AND reference = :reference AND status = 'pending' FOR UPDATE`;

function* finish(reference: string, status: FinalStatus, merchant: LockedMerchant, failure?: Failure): Work<true> {
  yield* endNow([{ kind: "checkout", reference, merchant, status, failure }]);
  return true;
}

export function payments(executor: Executor): Omit<RecordStore, "insertDisbursement" | "insertCheckout"> {
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
    findDisbursement: recordFinder<Disbursement>(executor, RECORDS.disbursement),
    listDisbursements: recordList<Disbursement>(executor, RECORDS.disbursement),
    countRefusal: (merchant, reference) =>
      write(
        function* () {
          return (yield* run(COUNT_REFUSAL, { merchant, reference })).rows[0]!.count;
        },
        { isAside: true },
      ),
    async listWaiting({ merchantId: merchant, limit }) {
      const which = merchant === undefined ? "" : "AND d.merchant_id = :merchant";
      return (await read({ text: LIST_WAITING(which), values: { merchant, limit } })).map(toRecord<Disbursement>);
    },
    decideApproval: (merchantId, reference, actor, rejection) =>
      write(function* (): Work<Decided> {
        const merchant = (yield* lockMerchants([merchantId], "orders")).get(merchantId);
        if (!merchant) return "not-waiting";
        const place = { merchant: merchantId, reference };
        const [row] = (yield* run(LOCK_WAITING, place)).rows;
        const record = row && toRecord<Disbursement>(row);
        // A payout whose time is over is about to fail.
        if (!record?.approval || record.due!.at <= merchant.now) return "not-waiting";
        const chain = yield* chainOf(actor, merchantId);
        const refused = mayDecide(record.approval, merchant, chain, rejection === undefined);
        if (refused) return refused;
        if (rejection !== undefined) {
          const end = { kind: "disbursement", reference, merchant, status: "failed", failure: record.failure } as const;
          yield* endNow([end]);
          const details = { reference, reason: rejection };
          yield* recordAction({ actor, action: "payment.reject", merchantId, details });
          return "decided";
        }
        const { due, failure, rail } = record.approval.plan;
        const ends = dueValues(due, failure, merchant.now);
        const approved = { merchant_id: merchantId, reference, approval: null, ...ends };
        yield* runAll([
          updateRows("disbursements", ["merchant_id", "reference"], [approved]),
          ...(rail === undefined ? [] : [insertNew("handovers", [handoverValues(record, rail, merchant.now)])]),
        ]);
        yield* recordAction({ actor, action: "payment.approve", merchantId, details: { reference } });
        return "decided";
      }),
    findCheckout: recordFinder<Checkout>(executor, RECORDS.checkout),
    listCheckouts: recordList<Checkout>(executor, RECORDS.checkout),
    async findPublicCheckout(reference) {
      const [found] = await read({ text: SELECT_PUBLIC, values: { reference } });
      if (!found) return undefined;
      const [merchant] = await read({ text: SELECT_MERCHANT, values: { merchant: found.merchant_id } });
      return { checkout: toRecord(found), merchant: toMerchant(merchant!) };
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
