import { ClientError, DuplicateReferenceError, NotFoundError } from "./errors.ts";
import type {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  ErrorClass,
  OfCheckout,
  OfDisbursement,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./errors.ts";
import { ignore } from "./options.ts";
import type { CallOptions } from "./options.ts";
import type { Received } from "./read.ts";
import type {
  Checkout,
  CreatedCheckout,
  CreatedDisbursement,
  Disbursement,
  FinalCheckout,
  FinalDisbursement,
} from "./types.ts";

interface Unknown<Resumed> {
  /**
   * Finds out what happened, and pays if nothing did: calls `resume` of the client with the same request. Safe to call at
   * any time and as often as you like. The options of the first call do not apply again.
   */
  resume(options?: CallOptions): Resumed;
}

class Unresolved extends ClientError {
  override readonly name = "OutcomeUnknownError";
}

/**
 * The record may or may not exist, and the client could not find out; `cause` is the last failure. Call `resume()`, or
 * `resume` of the client with the same request, now or days later; the payment is made at most once. Never send the
 * payment under another reference.
 */
export type OutcomeUnknownError = Unresolved &
  ((OfDisbursement & Unknown<CreateDisbursementCall>) | (OfCheckout & Unknown<CreateCheckoutCall>));
export const OutcomeUnknownError = Unresolved as unknown as ErrorClass<OutcomeUnknownError>;

interface Success<Outcome, R extends { status: unknown }> {
  outcome: Outcome;
  /** The record's status. A record that exists may still fail. */
  status: R["status"];
  data: R;
  error?: undefined;
}

interface Failure<Outcome, E> {
  outcome: Outcome;
  status?: undefined;
  data?: undefined;
  error: E;
}

/** Why a create recorded nothing. Distinguish the errors by `name`. */
export type Refusal =
  | AbortedError
  | AuthenticationError
  | ConnectionError
  | DuplicateReferenceError
  | NotFoundError
  | RateLimitError
  | TimeoutError
  | UnexpectedAnswerError
  | UsageError
  | ValidationError;

/** Why a read failed. Distinguish the errors by `name`. */
export type ReadFailure =
  | AbortedError
  | AuthenticationError
  | ConnectionError
  | RateLimitError
  | ServerError
  | TimeoutError
  | UnexpectedAnswerError
  | UsageError;

/** A record that a create returns. */
type Returned = { recovered: boolean; status: unknown };

/**
 * How a create ended:
 * - `created`: the record exists, and this call received the response to its create;
 * - `existed`: the record exists, and the client read it, because a response was lost or an earlier call created it;
 * - `refused`: this payment is certainly not recorded; `error` says why;
 * - `unknown`: the record may or may not exist; call `error.resume()` later.
 */
type CreateResult<Created extends Returned> =
  | Success<"created", Extract<Created, { recovered: false }>>
  | Success<"existed", Extract<Created, { recovered: true }>>
  | Failure<"refused", Refusal>
  | Failure<"unknown", OutcomeUnknownError>;
/** How a create of a payout ended. */
export type DisbursementResult = CreateResult<CreatedDisbursement>;
/** How a create of a checkout ended. */
export type CheckoutResult = CreateResult<CreatedCheckout>;

/** How a read ended: `found`, `missing` (no record has the reference) or `unknown` (it could not be read). */
type ReadResult<R extends { status: unknown }> =
  | Success<"found", R>
  | Failure<"missing", NotFoundError>
  | Failure<"unknown", ReadFailure>;

/** How reading a payout ended. */
export type FoundDisbursement = ReadResult<Disbursement>;
/** How reading a checkout ended. */
export type FoundCheckout = ReadResult<Checkout>;
/** How waiting for a payout ended. */
export type SettledDisbursement = ReadResult<FinalDisbursement>;
/** How waiting for a checkout ended. */
export type SettledCheckout = ReadResult<FinalCheckout>;

/** A call in progress. Await the call for its data, which throws on failure, or await its `result()`. */
export interface Call<Data, Result> extends Promise<Data> {
  /** Returns failures as values, discriminated by `outcome`, instead of throwing a ClientError. */
  result(): Promise<Result>;
  /**
   * Returns the data together with its response, for the status and headers. The body has been read. For a recovered
   * record, this is the response that contained the record. Throws on failure, like the call.
   */
  withResponse(): Promise<{ data: Data; response: Response }>;
}

/** A create of a payout in progress. */
export interface CreateDisbursementCall extends Call<CreatedDisbursement, DisbursementResult> {}
/** A create of a checkout in progress. */
export interface CreateCheckoutCall extends Call<CreatedCheckout, CheckoutResult> {}
/** A read of a payout in progress. */
export interface ReadDisbursementCall extends Call<Disbursement, FoundDisbursement> {}
/** A read of a checkout in progress. */
export interface ReadCheckoutCall extends Call<Checkout, FoundCheckout> {}
/** A wait for a payout's final status. */
export interface WaitForDisbursementCall extends Call<FinalDisbursement, SettledDisbursement> {}
/** A wait for a checkout's final status. */
export interface WaitForCheckoutCall extends Call<FinalCheckout, SettledCheckout> {}

type Failed = { outcome: string; status?: unknown; data?: unknown; error?: ClientError };

/** The result of a create that failed. */
export function createFailure(error: ClientError): Failed {
  if (error instanceof OutcomeUnknownError) return { outcome: "unknown", error };
  const { existing } = error instanceof DuplicateReferenceError && error.matches ? error : {};
  if (!existing) return { outcome: "refused", error };
  return { outcome: "existed", status: existing.status, data: { ...existing, recovered: true } };
}

/** The result of a read that failed. */
export function readFailure(error: ClientError): Failed {
  return { outcome: error instanceof NotFoundError ? "missing" : "unknown", error };
}

/** Starts a call. `toFailure` returns the result for an error of the client. */
export function toCall(toFailure: (error: ClientError) => Failed, run: () => Promise<Received>) {
  // The async function turns the exception for an invalid argument into a rejection, so that result() can report it.
  const received = (async () => run())();
  const promise = received.then(({ data }) => data);
  const result = () =>
    promise.then(
      (data: Received["data"] & { recovered?: boolean }) => ({
        outcome: data.recovered === undefined ? "found" : data.recovered ? "existed" : "created",
        status: data.status,
        data,
      }),
      (error) => {
        if (error instanceof ClientError) return toFailure(error);
        throw error;
      },
    );
  const withResponse = () => {
    // If `received` rejects, `promise` rejects as well: mark only `promise` as handled, and only here. The failure of a
    // call that nobody awaits must still be an unhandled rejection, which ends Node.
    promise.catch(ignore);
    return received;
  };
  return Object.assign(promise, { result, withResponse });
}
