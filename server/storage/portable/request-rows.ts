import type { RequestQuery, LoggedRequest } from "../../domain/request-log.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import { optional, type Row, type Values } from "../rows.ts";

export const toRequestRow = (request: LoggedRequest): Values => ({
  merchant_id: request.merchantId,
  at_real: request.at,
  number: request.number,
  request_id: request.requestId,
  operation: request.operation,
  method: request.method,
  path: request.path,
  status: request.status ?? null,
  code: request.code ?? null,
  duration_ms: request.durationMs,
  reference: request.reference ?? null,
  merchants_reference: request.merchantsReference ?? null,
  sent: request.sent ?? null,
  returned: request.returned ?? null,
  left_out: request.leftOut ?? null,
  program: request.program ?? null,
  key_id: request.keyId ?? null,
});

export function toLoggedRequest(row: Row): LoggedRequest {
  const given = {
    status: optional<number>(row.status),
    code: optional<string>(row.code),
    reference: optional<string>(row.reference),
    merchantsReference: optional<string>(row.merchants_reference),
    sent: optional<string>(row.sent),
    returned: optional<string>(row.returned),
    leftOut: optional<number>(row.left_out),
    program: optional<string>(row.program),
    keyId: optional<string>(row.key_id),
  };
  return {
    merchantId: row.merchant_id as string,
    at: row.at_real as number,
    number: row.number as number,
    requestId: row.request_id as string,
    operation: row.operation as string,
    method: row.method as string,
    path: row.path as string,
    durationMs: row.duration_ms as number,
    ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<typeof given>),
  } as LoggedRequest;
}

/** Where a page of the list begins: before the request with this time and number. */
export function requestPosition({ merchantId, cursor }: RequestQuery): number[] {
  return cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0] : openCursor("requests", merchantId, cursor, 2);
}

/** The cursor of the page after this row. */
export const requestsAfter = (row: Row): string =>
  sealCursor("requests", row.merchant_id as string, [row.at_real as number, row.number as number]);
