import type { Disbursement, DisbursementStore } from "../../domain/disbursements.ts";
import { toDisbursement } from "../record-rows.ts";
import { run, type Executor } from "./query.ts";
import { recordList } from "./record-lists.ts";

const STATUSES: readonly Disbursement["status"][] = ["pending", "success", "failed"];

const COUNT_REFUSAL = `INSERT INTO refusals AS r (merchant_id, merchants_reference, count)
  VALUES (:merchant, :reference, 1)
  ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`;

/** The operations that each database implements with its own statements, in `tuned/`. */
type Tuned = "insertDisbursement" | "findDisbursement";

export function disbursements(executor: Executor): Omit<DisbursementStore, Tuned> {
  const { write } = executor;
  return {
    listDisbursements: recordList(executor, { table: "disbursements", statuses: STATUSES, toRecord: toDisbursement }),
    countRefusal: (merchant, reference) =>
      write(
        function* () {
          const [row] = (yield* run(COUNT_REFUSAL, { merchant, reference })).rows;
          return row!.count;
        },
        { commit: "writeNew", isAside: true },
      ),
  };
}
