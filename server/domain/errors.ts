import type { components } from "../../generated/openapi.ts";

/** Every reason to refuse a request, as the contract lists them. The HTTP layer maps each to a status (`http/errors.ts`). */
export type ErrorCode = components["schemas"]["ErrorCode"];
export type FieldError = components["schemas"]["FieldError"];

interface Details {
  /** The path of the record that exists already, for `duplicate_reference` (D5). */
  existing?: { kind: "disbursement" | "checkout"; reference: string };
  /** When to retry, for `rate_limited` and `unavailable`. */
  retryAfterSeconds?: number;
  /** The methods that the path allows, for `method_not_allowed`. */
  allow?: string;
  /** The invalid fields, for `invalid_request` and `invalid_value`. */
  fields?: FieldError[];
}

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

/** The record is committed, and the caller must not receive a response (D17, 504). */
export class ConnectionDropped extends Error {
  override name = "ConnectionDropped";
}

/** A list was asked to continue from a cursor that it never returned to this merchant. */
export class InvalidCursorError extends ServiceError {
  constructor() {
    const message = "cursor must be a nextCursor that this list returned.";
    super("invalid_value", message, { fields: [{ path: "cursor", code: "unknown", message }] });
  }
}
