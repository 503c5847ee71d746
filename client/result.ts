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
import { ignore } from "./options.ts";
import type { Received } from "./recovery.ts";
import type { ErrorStatus, OperationId } from "./types.ts";

type Creates = "createDisbursement" | "createCheckout";
type Verifies = Exclude<OperationId, Creates>;

/**
 * The error statuses of a result. A create reports 5xx as "unknown", because the record may exist. 405 is left out,
 * because the client only uses methods that the contract defines.
 */
type ReportedStatus<Op extends OperationId> = Op extends Creates
  ? Exclude<ErrorStatus<Op>, 405 | 500 | 503>
  : Exclude<ErrorStatus<Op>, 405>;

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
 * How a call ended, discriminated by `status`: 200, a status that the contract defines for the operation, or
 * - `"unknown"` (creates only): the record may or may not exist;
 * - `"no-answer"`: no usable response was received; if the call was a create, nothing was recorded;
 * - `"other"`: a status outside the contract, or a response that is not from the service.
 */
export type Result<Op extends OperationId, Data, R> =
  | { ok: true; status: 200; data: Data }
  | { [S in ReportedStatus<Op>]: Failed<S, ErrorByStatus<R>[S]> }[ReportedStatus<Op>]
  | (Op extends Creates ? Failed<"unknown", OutcomeUnknownError> : never)
  | Failed<
      "no-answer",
      ConnectionError | (TimeoutError & { last?: R | undefined }) | AbortedError | UsageError | AuthenticationError
    >
  | Failed<"other", ClientError>;

/** A call in progress. Await it for its data, which throws on failure, or await its `result()`. */
export interface Call<Op extends OperationId, Data, R> extends Promise<Data> {
  /** Returns failures as values instead of throwing a ClientError; see {@link Result}. */
  result(): Promise<Result<Op, Data, R>>;
  /**
   * Returns the data together with the response that it is from, for its status and headers. The body has been read. A
   * recovered record is from the response to reading it. Throws on failure, like the call.
   */
  withResponse(): Promise<{ data: Data; response: Response }>;
}

/** A set of all reported statuses of an operation. A set that omits a status of the contract does not compile. */
type StatusSet<Op extends OperationId> = Record<ReportedStatus<Op>, 1>;

export const createStatuses: StatusSet<Creates> = { 400: 1, 401: 1, 409: 1, 413: 1, 415: 1, 422: 1, 429: 1 };
export const verifyStatuses: StatusSet<Verifies> = { 401: 1, 404: 1, 429: 1, 500: 1 };

function statusOf(error: ClientError, statuses: object): unknown {
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (!error.status) return "no-answer";
  return error.status in statuses && !(error instanceof UnexpectedAnswerError) ? error.status : "other";
}

/** Starts a call. `statuses` are the HTTP statuses that its result reports by number. */
export function toCall(statuses: object, run: () => Promise<Received>) {
  // The async function turns the exception for an invalid argument into a rejection, so that result() can report it.
  const received = (async () => run())();
  const promise = received.then(({ data }) => data);
  // Node ends the process if a call fails before result() is called. Whoever awaits the call still gets its error.
  promise.catch(ignore);
  const result = () =>
    promise.then(
      (data) => ({ ok: true, status: 200, data }),
      (error) => {
        if (error instanceof ClientError) return { ok: false, status: statusOf(error, statuses), error };
        throw error;
      },
    );
  return Object.assign(promise, { result, withResponse: () => received });
}
