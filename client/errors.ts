import type { ResponseInfo } from "./hooks.ts";
import type { Checkout, Disbursement, ErrorCode, FieldError } from "./types.ts";

/** The facts that an error carries besides its message. */
export interface ErrorDetails {
  /** HTTP status, if a response was received. */
  readonly status?: number | undefined;
  /** The response's `x-request-id`. Quote it when you report a problem to the service. */
  readonly requestId?: string | undefined;
  /** The service's own description: `error` and `message` of the response body in one line. */
  readonly serverMessage?: string | undefined;
  /** The service's code for what went wrong, if it sends one. Later versions of the service may add codes. */
  readonly code?: ErrorCode | undefined;
  /** The fields that the service refused, if it names them. */
  readonly fields?: readonly FieldError[] | undefined;
  /** The delay that the service asked for in `Retry-After`, in ms. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** Base class of all errors of this client. Distinguish them by class or by `name`. No error contains the API key. */
export abstract class ClientError extends Error implements ErrorDetails {
  /** The name of the class. It stays the same when a minifier renames the class itself. */
  abstract override readonly name: string;
  declare readonly status?: number | undefined;
  declare readonly requestId?: string | undefined;
  declare readonly serverMessage?: string | undefined;
  declare readonly code?: ErrorCode | undefined;
  declare readonly fields?: readonly FieldError[] | undefined;
  declare readonly retryAfter?: number | undefined;
  /** The reference of the call: the merchant's for a create, the service's for a verify. */
  declare readonly reference?: string | undefined;
  /** Identifies the call in hooks, in logs and in the `traceparent` header of its requests. */
  declare readonly callId?: string | undefined;
  /** The attempts of the call and how each ended, in order. */
  declare readonly attempts?: readonly ResponseInfo[] | undefined;

  constructor(message: string, details?: ErrorDetails) {
    super(message, details);
    Object.assign(this, details);
  }
}

/** An option or argument is invalid. No request was sent. */
export class UsageError extends ClientError {
  override readonly name = "UsageError";
}

/** The API key is missing, unknown or revoked (401), or lacks permission (403), or the `apiKey` function failed. */
export class AuthenticationError extends ClientError {
  override readonly name = "AuthenticationError";
}

/** The request is invalid (400, 413, 415, 422); `fields` or `serverMessage` names what to fix. Nothing was recorded. */
export class ValidationError extends ClientError {
  override readonly name = "ValidationError";
}

/** No record has this reference (404). */
export class NotFoundError extends ClientError {
  override readonly name = "NotFoundError";
}

/** The merchant's reference is already in use (409). */
export class DuplicateReferenceError extends ClientError {
  override readonly name = "DuplicateReferenceError";
  /** The record that uses the reference, if the client could read it. Not enumerable, because it has a phone number. */
  declare readonly existing?: Disbursement | Checkout | undefined;
  /**
   * True if `existing` has the amount, country, currency and recipient of this request. Undefined if the record could
   * not be read (`cause` says why). In that case this very payment may exist, so do not send it under another reference.
   */
  declare readonly matches?: boolean | undefined;
}

/** The last attempt was still rate limited (429). Nothing was recorded. */
export class RateLimitError extends ClientError {
  override readonly name = "RateLimitError";
}

/** The last attempt still returned 5xx. */
export class ServerError extends ClientError {
  override readonly name = "ServerError";
}

/** No complete response was received, because the service was unreachable or the connection broke. */
export class ConnectionError extends ClientError {
  override readonly name = "ConnectionError";
}

/** The time limit passed without a response, or in `waitFor` without a final status. */
export class TimeoutError extends ClientError {
  override readonly name = "TimeoutError";
  /** The last record that `waitFor` read. Its status is not final. Not enumerable, because it has a phone number. */
  declare readonly last?: Disbursement | Checkout | undefined;
}

/** The caller's `signal` ended the call; `cause` is its reason. */
export class AbortedError extends ClientError {
  override readonly name = "AbortedError";
  /** The last record that `waitFor` read, if any. Not enumerable, because it has a phone number. */
  declare readonly last?: Disbursement | Checkout | undefined;
}

/** The response violates the contract. It may be a proxy's page, a redirect, an invalid body, or another record. */
export class UnexpectedAnswerError extends ClientError {
  override readonly name = "UnexpectedAnswerError";
}

/**
 * The record may or may not exist, and the client could not find out; `cause` is the last failure. Call create again
 * with the same reference and content; the payment is made at most once. Never send the payment under another
 * reference.
 */
export class OutcomeUnknownError extends ClientError {
  override readonly name = "OutcomeUnknownError";
}
