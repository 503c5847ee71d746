import { STATUS_CODES } from "node:http";
import type { ErrorCode, ServiceError } from "../domain/errors.ts";

/** The HTTP status of each error (§7, D1). */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  "invalid-request": 400,
  unauthorized: 401,
  "not-found": 404,
  "method-not-allowed": 405,
  duplicate: 409,
  conflict: 409,
  "content-too-large": 413,
  "unsupported-media-type": 415,
  unprocessable: 422,
  "too-many-requests": 429,
  internal: 500,
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
  /** A short phrase for people. */
  phrase: string;
  headers: Record<string, string>;
}

export function toHttpError({ code, details }: ServiceError): HttpError {
  const { existing, retryAfterSeconds, allow } = details;
  const status = STATUS[code];
  return {
    status,
    phrase: PHRASES[status]!,
    headers: {
      ...(existing && { Location: `/v1/${existing.kind}s/${existing.reference}` }),
      ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
      ...(allow !== undefined && { Allow: allow }),
    },
  };
}
