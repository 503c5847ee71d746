import { FIRST_FAILED_STATUS, REQUESTS_KEPT, type RequestLog } from "../../domain/request-log.ts";
import { REQUEST_COLUMNS } from "../columns.ts";
import { toPage } from "./pages.ts";
import { requestPosition, requestsAfter, toLoggedRequest, toRequestRow } from "./request-rows.ts";
import { insertNew, runAll, type Executor } from "./query.ts";

const OF_ONE_KIND = `merchant_id = :merchant AND coalesce(status >= ${FIRST_FAILED_STATUS}, true) = :failed`;
const FORGET = `DELETE FROM request_log WHERE ${OF_ONE_KIND} AND (at_real, number) <=
  (SELECT at_real, number FROM request_log WHERE ${OF_ONE_KIND}
   ORDER BY at_real DESC, number DESC LIMIT 1 OFFSET ${REQUESTS_KEPT.newest})`;
// A merchant has few rows, so the filters need no index.
const SELECT = `SELECT * FROM request_log WHERE merchant_id = :merchant AND at_real > (SELECT :now) - :kept::bigint
    AND (at_real, number) < (:at, :number)
    AND (:class::bigint IS NULL OR coalesce(status / 100, 0) = :class) AND (:operation::text IS NULL OR operation = :operation)
    AND (:reference::text IS NULL OR :reference IN (reference, merchants_reference))
    AND (:request::text IS NULL OR request_id = :request)
  ORDER BY at_real DESC, number DESC LIMIT :limit`;

export function requestLog({ read, write }: Executor): RequestLog {
  return {
    insertRequests: (requests) =>
      write(
        function* () {
          // The outcome of a commit may be unknown, so the same requests may be inserted again.
          yield [insertNew("request_log", { columns: REQUEST_COLUMNS, values: requests.map(toRequestRow) })];
          const merchants = [...new Set(requests.map(({ merchantId }) => merchantId))].toSorted();
          const kinds = merchants.flatMap((merchant) => [false, true].map((failed) => ({ merchant, failed })));
          yield* runAll(kinds.map((values) => ({ text: FORGET, values })));
        },
        { commit: "writeApart", repeatable: true },
      ),
    async listRequests(query) {
      const [at, number] = requestPosition(query);
      const { merchantId, statusClass = null, operation = null, reference = null, requestId = null, limit } = query;
      const filters = { class: statusClass, operation, reference, request: requestId };
      const range = { merchant: merchantId, kept: REQUESTS_KEPT.forMs, at: at!, number: number!, limit: limit + 1 };
      const found = await read({ text: SELECT, values: { ...range, ...filters } });
      return toPage(found, limit, toLoggedRequest, requestsAfter);
    },
  };
}
