import type { components } from "../../generated/openapi.ts";

/** The contract's list of reasons for refusing a request. The HTTP layer maps each to a status (`http/http-error.ts`). */
export type ErrorCode = components["schemas"]["ErrorCode"];
export type FieldError = components["schemas"]["FieldError"];

interface Details {
  /** The path of the record that exists already, for `duplicate_reference` (D5). */
  existing?: { kind: "disbursement" | "checkout"; reference: string };
  /** After how many seconds to retry, for `rate_limited` and `unavailable`. */
  retryAfterSeconds?: number;
  /** The methods that the path allows, for `method_not_allowed`. */
  allow?: string;
  /** The invalid fields, for `invalid_request` and `invalid_value`. */
  fields?: FieldError[];
}

/** How many wrong fields an error names. A body may have thousands. */
export const MOST_NAMED = 20;

/** A refused request. `message` tells the caller what to fix (D2); it never contains a secret. */
export class ServiceError extends Error {
  override name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: Readonly<Details>;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Thrown after the record is committed, if the response is to be lost (D17): by a number that ends in 504, or by chaos. */
export class ConnectionDropped extends Error {
  override name = "ConnectionDropped";
}

/** Thrown for a cursor that the list never returned to this merchant. */
export class InvalidCursorError extends ServiceError {
  constructor() {
    const message = "cursor must be a nextCursor that this list returned.";
    super("invalid_value", message, { fields: [{ path: "cursor", code: "unknown", message }] });
  }
}
