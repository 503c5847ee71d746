import type { ErrorCode, ListId, OperationId } from "./types.ts";

/** Describes an attempt to a hook. Contains no key, headers, bodies or phone numbers. */
export interface RequestInfo {
  operation: OperationId | ListId;
  /** The merchant's reference for a create, the service's reference for a verify, nothing for a list. */
  reference: string | undefined;
  /**
   * Identifies the call: 32 random hexadecimal digits, the same for all attempts. It is the trace id in the `traceparent`
   * header of its requests.
   */
  callId: string;
  /** Number of the attempt; the first is 1. */
  attempt: number;
}

/** An error as hooks receive it: without the records, cause and stack of the thrown error. */
export interface ErrorInfo {
  /** The name of the error's class. */
  name: string;
  /** The service's code for what went wrong, if it sent one. */
  code: ErrorCode | undefined;
  /** Includes the HTTP status and the service's own message. */
  message: string;
}

/** How an attempt ended. */
export interface ResponseInfo extends RequestInfo {
  /** Duration of the attempt, in ms. */
  duration: number;
  /** HTTP status, if a response was received. */
  status: number | undefined;
  requestId: string | undefined;
  /** Why the attempt failed. Undefined when `waitFor` reads a record that is still pending. */
  error: ErrorInfo | undefined;
}

/** Describes a retry before its delay begins, and how the attempt before it ended. */
export interface RetryInfo extends ResponseInfo {
  /** The delay before the next attempt, in ms. */
  delay: number;
}

/** Callbacks for logs and metrics. The client does not await them and ignores their errors. */
export interface Hooks {
  onRequest?(info: RequestInfo): void;
  onResponse?(info: ResponseInfo): void;
  onRetry?(info: RetryInfo): void;
}
