import type { DisbursementStore } from "../../domain/disbursements.ts";
import { PAYOUTS, toDisbursement } from "../record-rows.ts";
import { run, type Executor } from "./query.ts";
import { recordFinder, recordList } from "./record-lists.ts";

const SELECT_BY_REFERENCE = `SELECT * FROM disbursements WHERE merchant_id = :merchant AND merchants_reference = :reference`;
const COUNT_REFUSAL = `INSERT INTO refusals AS r (merchant_id, merchants_reference, count)
  VALUES (:merchant, :reference, 1)
  ON CONFLICT (merchant_id, merchants_reference) DO UPDATE SET count = r.count + 1 RETURNING count`;

export function disbursements(executor: Executor): Omit<DisbursementStore, "insertDisbursement"> {
  const { read, write } = executor;
  return {
    findDisbursement: recordFinder(executor, PAYOUTS),
    async findDisbursementByMerchantsReference(merchant, reference) {
      const [row] = await read({ text: SELECT_BY_REFERENCE, values: { merchant, reference } });
      return row && toDisbursement(row);
    },
    listDisbursements: recordList(executor, PAYOUTS),
    countRefusal: (merchant, reference) =>
      write(
        function* () {
          const [row] = (yield* run(COUNT_REFUSAL, { merchant, reference })).rows;
          return row!.count;
        },
        { isAside: true },
      ),
  };
}
