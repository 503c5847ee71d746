import { FIRST_FAILED_STATUS, REQUESTS_KEPT, type RequestLog } from "../../domain/storage.ts";
import { REQUEST_COLUMNS, requestPage, requestPosition, toRequestRow } from "../request-rows.ts";
import { inserter, type Context } from "./context.ts";

/** The outcome of a commit may be unknown, so the same requests may be inserted again. */
const insert = inserter("request_log", REQUEST_COLUMNS, "ON CONFLICT DO NOTHING");
const OF_ONE_KIND = `merchant_id = $1 AND coalesce(status >= ${FIRST_FAILED_STATUS}, true) = $2`;
const FORGET = `DELETE FROM request_log WHERE ${OF_ONE_KIND} AND (at_real, number) <=
  (SELECT at_real, number FROM request_log WHERE ${OF_ONE_KIND}
   ORDER BY at_real DESC, number DESC LIMIT 1 OFFSET ${REQUESTS_KEPT.newest})`;
// A merchant has few rows, so the filters need no index.
const SELECT = `SELECT * FROM request_log WHERE merchant_id = $1 AND at_real > (SELECT :now) - $2::bigint
    AND (at_real, number) < ($3, $4)
    AND ($5::bigint IS NULL OR coalesce(status / 100, 0) = $5) AND ($6::text IS NULL OR operation = $6)
    AND ($7::text IS NULL OR $7 IN (reference, merchants_reference)) AND ($8::text IS NULL OR request_id = $8)
  ORDER BY at_real DESC, number DESC LIMIT $9`;

export function requestLog({ db }: Context): RequestLog {
  return {
    insertRequests: (requests) =>
      db.transaction(
        async (query) => {
          await insert(query, requests.map(toRequestRow));
          const merchants = [...new Set(requests.map(({ merchantId }) => merchantId))].toSorted();
          const kinds = merchants.flatMap((merchantId) => [false, true].map((failed) => [merchantId, failed]));
          await Promise.all(kinds.map((values) => query(FORGET, values)));
        },
        { repeatable: true },
      ),
    async listRequests(query) {
      const { merchantId, statusClass = null, operation = null, reference = null, requestId = null, limit } = query;
      const filters = [statusClass, operation, reference, requestId];
      const values = [merchantId, REQUESTS_KEPT.forMs, ...requestPosition(query), ...filters, limit + 1];
      return requestPage((await db.read(SELECT, values)).rows, query);
    },
  };
}
