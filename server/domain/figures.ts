import type { FinalStatus } from "./records.ts";
import { DAY_MS } from "./time.ts";

/** A day, counted from 1 January 1970, in UTC. */
export type Day = number;

/** The steps to which times until a final status are rounded up, in milliseconds. */
export const TIME_STEPS = [1_000, 2_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000, 28_800_000, DAY_MS];

/**
 * Payments of one day that became final in the same way. The day is the day on which they were created, in sandbox
 * time.
 */
export interface Figure {
  day: Day;
  kind: PaymentKind;
  status: FinalStatus;
  currency: string;
  /** The rail that carried the payments; empty in a sandbox. */
  rail: string;
  /** The step of `TIME_STEPS` within which the payments became final; absent if they took longer than all steps. */
  within?: number;
  payments: number;
  amount: bigint;
}

export type PaymentKind = "disbursement" | "checkout";

/** Payments of one day that are pending. */
export interface PendingFigure {
  day: Day;
  kind: PaymentKind;
  currency: string;
  payments: number;
  amount: bigint;
  /** When the oldest pending payment was created, in real time. */
  oldestAt: number;
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
/** The largest number of pending payments of a kind that are counted. */
export const MOST_PENDING = 5_000;

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

/** What a merchant paid out on the day on which it paid out most, without fees. */
export interface BusiestDay {
  merchantId: string;
  currency: string;
  amount: bigint;
}

/** How many payments failed for a reason. The code is absent for payments that failed before reasons were recorded. */
export interface FailureCount {
  code: string | undefined;
  payments: number;
}
/** The number of failed payments whose reasons are counted. */
export const MOST_FAILURES_COUNTED = 1_000;

/** An attempt in the health of a receiver. */
export interface ReceiverAttempt {
  host: string;
  /** In sandbox time. */
  at: number;
  latencyMs: number;
  isDelivered: boolean;
  /** The status of the response, or why there was no response. */
  result: string;
}

export interface FiguresQuery {
  /** Absent for all merchants. */
  merchantId?: string | undefined;
  from: Day;
  /** The last day. */
  to: Day;
}

/** Figures of payments by day. A worker keeps them, so that creating and settling a payment take no longer (D106). */
export interface FigureStore {
  /**
   * Counts the payments of the next `limit` events of one merchant. Each event is counted once, whichever processes call
   * this.
   * @returns the number of counted events; 0 if all are counted, or another process is counting
   */
  countFigures(limit: number): Promise<number>;
  readFigures(query: FiguresQuery): Promise<Figure[]>;
  /** Counts the pending payments that were created on these days, the newest `MOST_PENDING` of each kind. */
  readPending(query: FiguresQuery): Promise<PendingFigure[]>;
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
  countFailures(query: FiguresQuery & { merchantId: string; kind: PaymentKind }): Promise<FailureCount[]>;
  /** Finds the busiest of the last whole `days`, in the time of each merchant, by currency. */
  readBusiestDays(query: { merchantId?: string | undefined; days: number }): Promise<BusiestDay[]>;
  /** Reads the attempts of a merchant's newest `limit` webhooks, the newest webhook first. */
  readReceiverAttempts(merchantId: string, limit: number): Promise<ReceiverAttempt[]>;
}
