import { ClientError, OutcomeUnknownError, UnexpectedAnswerError } from "./errors.ts";
import type {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UsageError,
  ValidationError,
} from "./errors.ts";
import type { ErrorStatus, OperationId } from "./types.ts";

type Creates = "createDisbursement" | "createCheckout";
type Verifies = Exclude<OperationId, Creates>;

/** A create never reports 5xx as such: whether it was recorded is not known then, which is a case of its own. */
type Refusal<Op extends OperationId> = Op extends Creates ? Exclude<ErrorStatus<Op>, 500 | 503> : ErrorStatus<Op>;

interface ErrorByStatus<R> {
  400: ValidationError;
  401: AuthenticationError;
  404: NotFoundError;
  409: DuplicateReferenceError<R>;
  413: ValidationError;
  415: ValidationError;
  422: ValidationError;
  429: RateLimitError;
  500: ServerError;
}

interface Failed<Status, E> {
  ok: false;
  status: Status;
  error: E;
}

/**
 * How a call ended, told apart by `status`: 200, each status that the contract names for the operation, and
 * - `"unknown"` (creates only): it may have been recorded;
 * - `"no-answer"`: there was no answer to go by, and a create has recorded nothing;
 * - `"other"`: a status that the contract does not name, or an answer that is not the service's.
 */
export type Result<Op extends OperationId, Data, R> =
  | { ok: true; status: 200; data: Data }
  | { [S in Refusal<Op>]: Failed<S, ErrorByStatus<R>[S]> }[Refusal<Op>]
  | (Op extends Creates ? Failed<"unknown", OutcomeUnknownError> : never)
  | Failed<"no-answer", ConnectionError | TimeoutError<R> | AbortedError | UsageError>
  | Failed<"other", ClientError>;

/** A call that is under way: await it to get the data or have an error thrown, or await its `result()`. */
export interface Call<Op extends OperationId, Data, R> extends Promise<Data> {
  /** Throws no ClientError; see {@link Result}. */
  result(): Promise<Result<Op, Data, R>>;
}

// Every status that the contract names: a new one there does not compile until it is listed here.
const ofCreate: Record<Refusal<Creates>, 1> = { 400: 1, 401: 1, 409: 1, 413: 1, 415: 1, 422: 1, 429: 1 };
const ofVerify: Record<Refusal<Verifies>, 1> = { 401: 1, 404: 1, 429: 1, 500: 1 };

function statusOf(error: ClientError, operation: OperationId): unknown {
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (!error.status) return "no-answer";
  const named = operation.startsWith("create") ? ofCreate : ofVerify;
  return error.status in named && !(error instanceof UnexpectedAnswerError) ? error.status : "other";
}

export function toCall<Op extends OperationId, Data, R>(operation: Op, promise: Promise<unknown>): Call<Op, Data, R> {
  const result = () =>
    promise.then(
      (data) => ({ ok: true, status: 200, data }),
      (error) => {
        if (error instanceof ClientError) return { ok: false, status: statusOf(error, operation), error };
        throw error;
      },
    );
  return Object.assign(promise, { result }) as unknown as Call<Op, Data, R>;
}
