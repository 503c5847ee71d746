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
  /** The merchant of the oldest pending payment. */
  oldestOf: string;
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

/** Figures of payments by day. A worker keeps them, so that creating and settling a payment take no longer (D105). */
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
  /** Reads the attempts of a merchant's newest `limit` webhooks, the newest webhook first. */
  readReceiverAttempts(merchantId: string, limit: number): Promise<ReceiverAttempt[]>;
}
