import { STATUS_CODES } from "node:http";
import type { components } from "../../generated/openapi.ts";
import type { ErrorCode, ServiceError } from "../domain/errors.ts";

/** The HTTP status of each error (§7, D1). */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  key_not_permitted: 403,
  merchant_suspended: 403,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  duplicate_reference: 409,
  checkout_final: 409,
  delivery_in_progress: 409,
  content_too_large: 413,
  unsupported_media_type: 415,
  invalid_value: 422,
  insufficient_funds: 422,
  limit_exceeded: 422,
  not_served: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
};

// RFC 9110 renamed two statuses; Node still has the old names.
const PHRASES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: "Content Too Large",
  422: "Unprocessable Content",
};

/** How an error is sent over HTTP. */
export interface HttpError {
  status: number;
  headers: Record<string, string>;
  body: components["schemas"]["ErrorResponse"];
}

export function toHttpError({ code, message, details }: ServiceError): HttpError {
  const { existing, retryAfterSeconds, allow, fields } = details;
  const status = STATUS[code];
  return {
    status,
    headers: {
      ...(existing && { Location: `/v1/${existing.kind}s/${existing.reference}` }),
      ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
      ...(allow !== undefined && { Allow: allow }),
    },
    body: { statusCode: status, error: PHRASES[status]!, message, code, ...(fields && { fields }) },
  };
}
