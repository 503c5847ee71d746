export { createClient } from "./client.ts";
export type { Checkouts, DisbursementClient, Disbursements } from "./client.ts";
export {
  AbortedError,
  AuthenticationError,
  ClientError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./errors.ts";
export type { ErrorInfo, Hooks, RequestInfo, ResponseInfo, RetryInfo } from "./hooks.ts";
export type { CheckoutFilters, DisbursementFilters } from "./list.ts";
export type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  Fetch,
  LogLevel,
  RetryOptions,
  WaitOptions,
} from "./options.ts";
export type { Call, Result } from "./result.ts";
export type { RawClient } from "./transport.ts";
export type * from "../generated/models.ts";
export type { CreatedCheckout, CreatedDisbursement, Final } from "./types.ts";
