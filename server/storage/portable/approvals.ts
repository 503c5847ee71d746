import { mayDecide, type ApprovalStore, type Decided } from "../../domain/disbursements.ts";
import { sandboxTime } from "../../domain/time.ts";
import { dueValues, failureValue, toDisbursement } from "../record-rows.ts";
import { recordAction } from "./audit.ts";
import { handoverValues } from "./handover-rows.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { writeEvents } from "./settling.ts";
import { eyesOf } from "./sign-in.ts";
import { insertNew, run, runAll, type Executor, type Work } from "./query.ts";

const WAITS = "d.approval IS NOT NULL AND d.status = 'pending'";
const LIST = (which: string) => `SELECT d.* FROM disbursements d WHERE ${WAITS} ${which}
  ORDER BY d.created_at, d.reference LIMIT :limit`;
const LOCK = `SELECT d.* FROM disbursements d
  WHERE d.merchant_id = :merchant AND d.reference = :reference AND ${WAITS} FOR UPDATE`;
const OF_ONE = "WHERE merchant_id = :merchant AND reference = :reference";
const APPROVE = `UPDATE disbursements SET approval = NULL, failure = :failure, due_at = :due_at,
  due_status = :due_status ${OF_ONE}`;
const REJECT = `UPDATE disbursements SET approval = NULL, status = 'failed', due_at = NULL,
  due_status = NULL, updated_at = greatest(updated_at, :at) ${OF_ONE} RETURNING *`;

export function approvals({ read, write }: Executor): ApprovalStore {
  return {
    async listWaiting({ merchantId, limit }) {
      const which = merchantId === undefined ? "" : "AND d.merchant_id = :merchant";
      return (await read({ text: LIST(which), values: { merchant: merchantId ?? null, limit } })).map(toDisbursement);
    },
    decideApproval: (merchantId, reference, actor, rejection) =>
      write(function* (): Work<Decided> {
        const known = (yield* run("SELECT 1 AS known FROM merchants WHERE id = :merchant", { merchant: merchantId }))
          .count;
        if (known === 0) return "not-waiting";
        const merchant = yield* lockMerchant(merchantId, "orders");
        const place = { merchant: merchantId, reference };
        const [row] = (yield* run(LOCK, place)).rows;
        const record = row && toDisbursement(row);
        // A payout whose time is over is about to fail.
        if (!record?.approval || record.due!.at <= merchant.now) return "not-waiting";
        const refused = mayDecide(record.approval, merchant, yield* eyesOf(actor, merchantId), rejection === undefined);
        if (refused) return refused;
        if (rejection !== undefined) {
          const { rows } = yield* run(REJECT, { ...place, at: sandboxTime(merchant, merchant.now) });
          yield* writeEvents([{ record: toDisbursement(rows[0]!), merchant }]);
          const details = { reference, reason: rejection };
          yield* recordAction({ actor, action: "payment.reject", merchantId, details });
          return "decided";
        }
        const { due, failure, rail } = record.approval.plan;
        const changes = { ...dueValues(due, merchant.now), failure: failureValue(failure) };
        yield* runAll([
          { text: APPROVE, values: { ...place, ...changes } },
          ...(rail === undefined ? [] : [insertNew("handovers", [handoverValues(record, rail, merchant.now)])]),
        ]);
        yield* recordAction({ actor, action: "payment.approve", merchantId, details: { reference } });
        return "decided";
      }),
  };
}
