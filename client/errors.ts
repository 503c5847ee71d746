import type { Checkout, Disbursement } from "./types.ts";

/** What is known when an error is made. */
export interface ErrorDetails {
  /** HTTP status, when there was an answer. */
  readonly status?: number | undefined;
  /** The answer's `x-request-id`: name it when asking the service about a call. */
  readonly requestId?: string | undefined;
  /** What the service said: `error` and `message` of §7 in one line. */
  readonly serverMessage?: string | undefined;
  readonly cause?: unknown;
}

/** Every error of this client. Tell them apart by class or by `code`. No error holds the API key. */
export abstract class ClientError extends Error implements ErrorDetails {
  abstract override readonly name: string;
  declare readonly status?: number | undefined;
  declare readonly requestId?: string | undefined;
  declare readonly serverMessage?: string | undefined;

  constructor(message: string, details?: ErrorDetails) {
    super(message, details);
    Object.assign(this, details);
  }

  /** The name of the class. It never changes, whatever a minifier makes of the class itself. */
  get code(): this["name"] {
    return this.name;
  }
}

/** A wrong option or argument. Nothing was sent. */
export class UsageError extends ClientError {
  override readonly name = "UsageError";
}

/** The key is missing, wrong or revoked (401), or may not do this (403). */
export class AuthenticationError extends ClientError {
  override readonly name = "AuthenticationError";
}

/** The request breaks a rule (400, 413, 415, 422); `serverMessage` names the fields. Nothing was recorded. */
export class ValidationError extends ClientError {
  override readonly name = "ValidationError";
}

/** No record has this reference (404). */
export class NotFoundError extends ClientError {
  override readonly name = "NotFoundError";
}

/** The merchant's reference was used before (409). */
export class DuplicateReferenceError extends ClientError {
  override readonly name = "DuplicateReferenceError";
  /** The record that has the reference, when the answer's `Location` led to it. */
  declare readonly existing?: Disbursement | Checkout | undefined;
  /**
   * Whether `existing` is what was asked for now: same amount, country, currency and recipient. Undefined when it could
   * not be looked up (`cause` says why): this very payment may have been made, so send it under no other reference.
   */
  declare readonly matches?: boolean | undefined;
}

/** Still too many requests at the last try (429). Nothing was recorded. */
export class RateLimitError extends ClientError {
  override readonly name = "RateLimitError";
}

/** Still 5xx at the last try. */
export class ServerError extends ClientError {
  override readonly name = "ServerError";
}

/** No answer: the service could not be reached, or the connection broke. */
export class ConnectionError extends ClientError {
  override readonly name = "ConnectionError";
}

/** No answer, or for `waitFor` no final status, within the time allowed. */
export class TimeoutError extends ClientError {
  override readonly name = "TimeoutError";
  /** The record as `waitFor` last saw it, not yet final. */
  declare readonly last?: Disbursement | Checkout | undefined;
}

/** The caller's `signal` ended the call. */
export class AbortedError extends ClientError {
  override readonly name = "AbortedError";
}

/** An answer that the contract does not know: a page from a proxy, a redirect, a wrong shape, another record. */
export class UnexpectedAnswerError extends ClientError {
  override readonly name = "UnexpectedAnswerError";
}

/**
 * A create may or may not have been recorded, and it could not be found out; `cause` is the last thing that happened.
 * Call create again with the same reference and content: it pays at most once. Never send the payment under another
 * reference.
 */
export class OutcomeUnknownError extends ClientError {
  override readonly name = "OutcomeUnknownError";
}
