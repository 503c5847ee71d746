export { createClient } from "./client.ts";
export type { Checkouts, DisbursementClient, Disbursements } from "./client.ts";
export * from "./errors.ts";
export type { CheckoutFilters, DisbursementFilters } from "./list.ts";
export type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  ErrorInfo,
  Fetch,
  Hooks,
  RequestInfo,
  ResponseInfo,
  RetryInfo,
  RetryOptions,
  WaitOptions,
} from "./options.ts";
export type {
  CreateAllOptions,
  Journal,
  JournalEntry,
  ManyOptions,
  PayoutResult,
  Progress,
  VerifyResult,
} from "./payroll.ts";
export type { Call, Result } from "./result.ts";
export type { RawClient } from "./transport.ts";
export type {
  Checkout,
  CheckoutCreated,
  CheckoutRequest,
  CheckoutStatus,
  CreatedCheckout,
  CreatedDisbursement,
  Disbursement,
  DisbursementCreated,
  DisbursementRequest,
  DisbursementStatus,
  Final,
  WebhookEvent,
} from "./types.ts";
