import { FIRST_FAILED_STATUS, REQUESTS_KEPT, type LoggedRequest, type RequestLog } from "../../domain/request-log.ts";
import type { Row, Values } from "../rows.ts";
import { placeOf, toPage } from "./pages.ts";
import { insertNew, LAST, runAll, type Executor } from "./query.ts";

const OF_ONE_KIND = `merchant_id = :merchant AND coalesce(status >= ${FIRST_FAILED_STATUS}, true) = :failed`;
const FORGET = `DELETE FROM request_log WHERE ${OF_ONE_KIND} AND (at_real, number) <=
  (SELECT at_real, number FROM request_log WHERE ${OF_ONE_KIND}
   ORDER BY at_real DESC, number DESC LIMIT 1 OFFSET ${REQUESTS_KEPT.newest})`;
// A merchant has few rows, so the filters need no index.
const SELECT = `SELECT * FROM request_log WHERE merchant_id = :merchant AND at_real > (SELECT :now) - :kept::bigint
    AND (at_real, number) < (:at_real, :number)
    AND (:class::bigint IS NULL OR coalesce(status / 100, 0) = :class) AND (:operation::text IS NULL OR operation = :operation)
    AND (:reference::text IS NULL OR :reference IN (reference, merchants_reference))
    AND (:request::text IS NULL OR request_id = :request)
  ORDER BY at_real DESC, number DESC LIMIT :limit`;

export function requestLog({ read, write }: Executor): RequestLog {
  return {
    insertRequests: (requests) =>
      write(
        function* () {
          if (requests.length === 0) return;
          // The outcome of a commit may be unknown, so the same requests may be inserted again.
          yield [insertNew("request_log", requests.map(toRequestRow))];
          const merchants = [...new Set(requests.map(({ merchantId }) => merchantId))].toSorted();
          const kinds = merchants.flatMap((merchant) => [false, true].map((failed) => ({ merchant, failed })));
          yield* runAll(kinds.map((values) => ({ text: FORGET, values })));
        },
        { commit: "writeUnflushed", idempotent: true },
      ),
    async listRequests(query) {
      const { merchantId: merchant, statusClass, operation, reference, requestId: request, limit } = query;
      const asked = { ...query, list: "requests", scope: merchant, start: { at_real: LAST, number: 0 } };
      const filters = { class: statusClass, operation, reference, request };
      const values = { ...placeOf(asked), merchant, kept: REQUESTS_KEPT.forMs, ...filters, limit: limit + 1 };
      return toPage(asked, await read({ text: SELECT, values }), toRequest);
    },
  };
}

/** The columns with which requests are found, and the whole request as JSON. */
const toRequestRow = (request: LoggedRequest): Values => ({
  merchant_id: request.merchantId,
  at_real: request.at,
  number: request.number,
  request_id: request.requestId,
  operation: request.operation,
  status: request.status ?? null,
  reference: request.reference ?? null,
  merchants_reference: request.merchantsReference ?? null,
  request: JSON.stringify(request),
});

const toRequest = ({ request }: Row) => JSON.parse(request as string) as LoggedRequest;
