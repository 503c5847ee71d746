import { FIRST_FAILED_STATUS, REQUESTS_KEPT, type RequestLog } from "../../domain/storage.ts";
import { REQUEST_COLUMNS, requestPage, requestPosition, toRequestRow } from "../request-rows.ts";
import { insertInto, type Context } from "./context.ts";

export function requestLog({ db, writeApart, now }: Context): RequestLog {
  const insert = insertInto(db, "request_log", Object.keys(REQUEST_COLUMNS));
  const ofOneKind = `merchant_id = ?1 AND coalesce(status >= ${FIRST_FAILED_STATUS}, 1) = ?2`;
  const forget = db.prepare(
    `DELETE FROM request_log WHERE ${ofOneKind} AND (at_real, number) <=
       (SELECT at_real, number FROM request_log WHERE ${ofOneKind}
        ORDER BY at_real DESC, number DESC LIMIT 1 OFFSET ${REQUESTS_KEPT.newest})`,
  );
  // A merchant has few rows, so the filters need no index.
  const select = db.prepare(
    `SELECT * FROM request_log WHERE merchant_id = :merchant AND at_real > :since AND (at_real, number) < (:at, :number)
       AND (:class IS NULL OR coalesce(status / 100, 0) = :class) AND (:operation IS NULL OR operation = :operation)
       AND (:reference IS NULL OR :reference IN (reference, merchants_reference))
       AND (:request IS NULL OR request_id = :request)
     ORDER BY at_real DESC, number DESC LIMIT :limit`,
  );
  return {
    insertRequests: (requests) =>
      writeApart(() => {
        for (const request of requests) insert(toRequestRow(request));
        for (const merchantId of new Set(requests.map((request) => request.merchantId))) {
          for (const failed of [0, 1]) forget.run(merchantId, failed);
        }
      }),
    async listRequests(query) {
      const [at, number] = requestPosition(query);
      const { merchantId, statusClass = null, operation = null, reference = null, requestId = null, limit } = query;
      const rows = select.all({
        merchant: merchantId,
        since: now() - REQUESTS_KEPT.forMs,
        at: at!,
        number: number!,
        class: statusClass,
        operation,
        reference,
        request: requestId,
        limit: limit + 1,
      });
      return requestPage(rows, query);
    },
  };
}
