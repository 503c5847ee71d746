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
export type {
  CheckoutFilters,
  CheckoutList,
  DisbursementFilters,
  DisbursementList,
  List,
  ListPage,
  Statement,
  StatementFilters,
} from "./read.ts";
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
  CreateCheckoutCall,
  CreateDisbursementCall,
  DisbursementResult,
  FoundCheckout,
  FoundDisbursement,
  ReadCheckoutCall,
  ReadDisbursementCall,
  ReadFailure,
  Refusal,
  SettledCheckout,
  SettledDisbursement,
  WaitForCheckoutCall,
  WaitForDisbursementCall,
} from "./result.ts";
export type { RawClient } from "./transport.ts";
export type * from "../generated/models.ts";
export type { CreatedCheckout, CreatedDisbursement, FinalCheckout, FinalDisbursement } from "./types.ts";
