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
  409: DuplicateReferenceError & { existing?: R | undefined };
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
  | Failed<"no-answer", ConnectionError | (TimeoutError & { last?: R | undefined }) | AbortedError | UsageError>
  | Failed<"other", ClientError>;

/** A call that is under way: await it to get the data or have an error thrown, or await its `result()`. */
export interface Call<Op extends OperationId, Data, R> extends Promise<Data> {
  /** Throws no ClientError; see {@link Result}. */
  result(): Promise<Result<Op, Data, R>>;
}

/** Every status that the contract names: a new one there does not compile until it is listed. */
type Statuses<Op extends OperationId> = Record<Refusal<Op>, 1>;

export const ofCreate: Statuses<Creates> = { 400: 1, 401: 1, 409: 1, 413: 1, 415: 1, 422: 1, 429: 1 };
export const ofVerify: Statuses<Verifies> = { 401: 1, 404: 1, 429: 1, 500: 1 };

function statusOf(error: ClientError, named: object): unknown {
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (!error.status) return "no-answer";
  return error.status in named && !(error instanceof UnexpectedAnswerError) ? error.status : "other";
}

/** Starts a call. `named` are the statuses that its result tells apart. */
export function toCall(named: object, run: () => Promise<unknown>) {
  // Asynchronous, so that a wrong argument rejects and result() can tell it.
  const promise = (async () => run())();
  const result = () =>
    promise.then(
      (data) => ({ ok: true, status: 200, data }),
      (error) => {
        if (error instanceof ClientError) return { ok: false, status: statusOf(error, named), error };
        throw error;
      },
    );
  return Object.assign(promise, { result });
}
