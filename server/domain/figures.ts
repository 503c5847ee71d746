import type { FinalStatus } from "./records.ts";

/** A day, counted from 1 January 1970, in UTC. */
export type Day = number;

export type PaymentKind = "disbursement" | "checkout";

/** Payments with one status and currency that were created in a part of this day, in sandbox time. */
export interface Figure {
  day: Day;
  status: FinalStatus | "pending";
  currency: string;
  payments: number;
  amount: bigint;
}

/** A receiver whose last attempt failed, so that its webhooks wait for a retry. */
export interface FailingReceiver {
  merchantId: string;
  host: string;
  /** The number of waiting webhooks, at most `MOST_WAITING_COUNTED`. */
  waiting: number;
  /** When the first waiting webhook is attempted again, in sandbox time. */
  nextAttemptAt: number;
  /** When the webhook that has waited longest was written, in sandbox time. */
  since: number;
}
export const MOST_WAITING_COUNTED = 1_000;

/** A receiver whose webhooks have failed for good: no attempt is left, or the receiver responded with 410. */
export interface GivenUpReceiver {
  merchantId: string;
  host: string;
  /** The number of these webhooks among the newest `MOST_GIVEN_UP_COUNTED` of the merchant. */
  failed: number;
  /** When the first of them was written, in sandbox time. */
  since: number;
}
export const MOST_GIVEN_UP_COUNTED = 200;

/** A merchant's payouts that are pending for too long. Payouts that wait for approval are not among them. */
export interface LatePayouts {
  merchantId: string;
  /** At most `MOST_WAITING_COUNTED`. */
  payouts: number;
  /** When the oldest was created, in real time. */
  since: number;
}

/** How many payments failed for a reason. The code is absent for payments that failed before reasons were recorded. */
export interface FailureCount {
  code: string | undefined;
  payments: number;
}
export const MOST_FAILURES_COUNTED = 1_000;

export interface FiguresQuery {
  merchantId: string;
  kind: PaymentKind;
  from: Day;
  /** The last day. */
  to: Day;
}

/** Figures of payments by day, and what needs attention. */
export interface FigureStore {
  /** Counts a merchant's payments of at most 31 days. The result may be a minute old. */
  readFigures(query: FiguresQuery): Promise<Figure[]>;
  /** Lists receivers that fail, of one merchant or of all. */
  listFailingReceivers(query: { merchantId?: string | undefined; limit: number }): Promise<FailingReceiver[]>;
  /**
   * Lists receivers with webhooks that were written `after` this time and have failed for good, of the `limit` merchants
   * whose webhooks failed last, or of one merchant. The time is real time, to which each merchant's clock adds.
   */
  listGivenUp(query: { merchantId?: string | undefined; after: number; limit: number }): Promise<GivenUpReceiver[]>;
  /** Lists merchants with payouts that are pending and were created `before` this real time, the oldest first. */
  listLate(query: { merchantId?: string | undefined; before: number; limit: number }): Promise<LatePayouts[]>;
  /** Counts why the newest `MOST_FAILURES_COUNTED` failed payments of a merchant in these days failed. */
  countFailures(query: FiguresQuery): Promise<FailureCount[]>;
}
