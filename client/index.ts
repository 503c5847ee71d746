export { createClient } from "./client.ts";
export type { Balances, Checkouts, DisbursementClient, Disbursements } from "./client.ts";
export {
  AbortedError,
  AuthenticationError,
  ClientError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./errors.ts";
export type { ErrorInfo, Hooks, RequestInfo, ResponseInfo, RetryInfo } from "./hooks.ts";
export type { List, ListFilters, ListPage, StatementFilters } from "./read.ts";
export type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  Fetch,
  LogLevel,
  RetryOptions,
  WaitOptions,
} from "./options.ts";
export { OutcomeUnknownError } from "./result.ts";
export type {
  Call,
  CheckoutResult,
  CreateCall,
  CreateResult,
  DisbursementResult,
  ReadCall,
  ReadFailure,
  ReadResult,
  Refusal,
} from "./result.ts";
export type { RawClient } from "./transport.ts";
export type * from "../generated/models.ts";
export type { CreatedCheckout, CreatedDisbursement, Final } from "./types.ts";
