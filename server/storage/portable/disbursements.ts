import { mayDecide, type ApprovalStore, type Decided, type DisbursementStore } from "../../domain/disbursements.ts";
import { dueValues, RECORDS, toDisbursement } from "../record-rows.ts";
import { recordAction } from "./audit.ts";
import { handoverValues } from "./inserting.ts";
import { lockMerchants } from "./locked-merchant.ts";
import { insertNew, run, runAll, updateRows, type Executor, type Work } from "./query.ts";
import { recordFinder, recordList } from "./record-lists.ts";
import { endNow } from "./settling.ts";
import { eyesOf } from "./sign-in.ts";

const COUNT_REFUSAL = `INSERT INTO refusals AS r (merchant_id, merchants_reference, count)
  VALUES (:merchant, :reference, 1)
  ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`;

const WAITS = "d.approval IS NOT NULL AND d.status = 'pending'";
const LIST = (which: string) => `SELECT d.* FROM disbursements d WHERE ${WAITS} ${which}
  ORDER BY d.created_at, d.reference LIMIT :limit`;
const LOCK = `SELECT d.* FROM disbursements d
  WHERE d.merchant_id = :merchant AND d.reference = :reference AND ${WAITS} FOR UPDATE`;

export function disbursements(executor: Executor): Omit<DisbursementStore, "insertDisbursement"> & ApprovalStore {
  const { read, write } = executor;
  return {
    findDisbursement: recordFinder(executor, RECORDS.disbursement),
    listDisbursements: recordList(executor, RECORDS.disbursement),
    countRefusal: (merchant, reference) =>
      write(
        function* () {
          return (yield* run(COUNT_REFUSAL, { merchant, reference })).rows[0]!.count;
        },
        { isAside: true },
      ),
    async listWaiting({ merchantId: merchant, limit }) {
      const which = merchant === undefined ? "" : "AND d.merchant_id = :merchant";
      return (await read({ text: LIST(which), values: { merchant, limit } })).map(toDisbursement);
    },
    decideApproval: (merchantId, reference, actor, rejection) =>
      write(function* (): Work<Decided> {
        const merchant = (yield* lockMerchants([merchantId], "orders")).get(merchantId);
        if (!merchant) return "not-waiting";
        const place = { merchant: merchantId, reference };
        const [row] = (yield* run(LOCK, place)).rows;
        const record = row && toDisbursement(row);
        // A payout whose time is over is about to fail.
        if (!record?.approval || record.due!.at <= merchant.now) return "not-waiting";
        const refused = mayDecide(record.approval, merchant, yield* eyesOf(actor, merchantId), rejection === undefined);
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
  };
}
