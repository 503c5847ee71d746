/** Every reason to refuse a request. The HTTP layer maps each to a status (see `http/errors.ts`). */
export type ErrorCode =
  | "invalid-request"
  | "unauthorized"
  | "not-found"
  | "method-not-allowed"
  | "duplicate"
  | "conflict"
  | "content-too-large"
  | "unsupported-media-type"
  | "unprocessable"
  | "too-many-requests"
  | "internal"
  | "unavailable";

interface Details {
  /** The path of the record that exists already, for `duplicate` (D5). */
  existing?: { kind: "disbursement" | "checkout"; reference: string };
  /** When to retry, for `too-many-requests` and `unavailable`. */
  retryAfterSeconds?: number;
  /** The methods that the path allows, for `method-not-allowed`. */
  allow?: string;
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

/** A list was asked to continue from a cursor that it never returned. */
export class InvalidCursorError extends ServiceError {
  constructor() {
    super("unprocessable", "cursor must be a nextCursor that this list returned.");
  }
}
