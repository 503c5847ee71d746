import type { Page } from "./pages.ts";
import type { Exchange } from "./telemetry.ts";

type Told = "requestId" | "merchantId" | "operation" | "method" | "status" | "durationMs";

/** A request of a merchant as its log shows it: without secrets, and with the last three digits of phone numbers. */
export interface LoggedRequest extends Pick<Exchange, Told> {
  /** The id of its API key. */
  keyId?: string;
  /** When it ended, in real time. */
  at: number;
  /** Orders the requests that one process has logged in the same millisecond. */
  number: number;
  path: string;
  code?: string;
  /** The service's reference of the payment that the request was about. */
  reference?: string;
  merchantsReference?: string;
  /** The name of the program that sent it, from its `User-Agent`: redacted, printable, at most 100 characters. */
  program?: string;
  /** The request's body or query, redacted, as JSON. */
  sent?: string;
  /** The response's body, redacted, as JSON. */
  returned?: string;
}

/**
 * What the log keeps for each merchant: this many successful requests and this many failed requests, the newest of the
 * last day.
 */
export const REQUESTS_KEPT = { newest: 1_000, forMs: 86_400_000 } as const;

/** Requests with this or a higher status, or without a status, did not succeed. */
export const FIRST_FAILED_STATUS = 400;

export interface RequestQuery {
  merchantId: string;
  /** The first digit of the status; 0 for requests without a response. */
  statusClass?: number;
  operation?: string;
  /** The service's reference or the merchant's. */
  reference?: string;
  requestId?: string;
  limit: number;
  cursor?: string;
}

/** The requests of each merchant, for its people. A reset keeps them. */
export interface RequestLog {
  /**
   * Adds requests, in a transaction that no payment shares, and deletes older requests beyond the limits. A power
   * failure can undo this.
   */
  insertRequests(requests: readonly LoggedRequest[]): Promise<void>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listRequests(query: RequestQuery): Promise<Page<LoggedRequest>>;
}
