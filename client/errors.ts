import type { ResponseInfo } from "./hooks.ts";
import type { Checkout, Disbursement, ErrorCode, FieldError, ListId, OperationId } from "./types.ts";

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
  /** The operation that was called. */
  declare readonly operation?: OperationId | ListId | undefined;
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

/** A class whose instances have one of several types, so that `instanceof` narrows to their union. */
export interface ErrorClass<E extends ClientError> {
  new (message: string, details?: ErrorDetails): E;
  readonly prototype: E;
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

/** An error of a create of a payout. */
export interface OfDisbursement {
  readonly operation: "createDisbursement";
}

/** An error of a create of a checkout. */
export interface OfCheckout {
  readonly operation: "createCheckout";
}

interface Duplicate<Record> {
  /** The record that uses the reference. Not enumerable, because it has a phone number. */
  readonly existing?: Record | undefined;
}

class Duplicated extends ClientError {
  override readonly name = "DuplicateReferenceError";
  /**
   * True if `existing` has the amount, country, currency and recipient of this request, false if it differs. Undefined
   * only in the `cause` of an OutcomeUnknownError: the record could not be read, or lacks one of these fields.
   */
  declare readonly matches?: boolean | undefined;
}

/**
 * The merchant's reference is already in use (409). `matches` tells whether `existing` is this payment or another.
 * `operation` narrows the type of `existing`.
 */
export type DuplicateReferenceError = Duplicated &
  ((OfDisbursement & Duplicate<Disbursement>) | (OfCheckout & Duplicate<Checkout>));
export const DuplicateReferenceError = Duplicated as unknown as ErrorClass<DuplicateReferenceError>;

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
