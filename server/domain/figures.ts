import type { FinalStatus, PaymentKind } from "./records.ts";

/**
 * Payments with one status and currency that were created on this day, in sandbox time. Several figures may each count a
 * part of the day. Days are counted from 1 January 1970, in UTC.
 */
export interface Figure {
  day: number;
  status: FinalStatus | "pending";
  currency: string;
  payments: number;
  amount: bigint;
}

/** A merchant's webhooks at one receiver, or its payouts, that need attention. */
export interface Issue {
  merchantId: string;
  /** The receiver. */
  host?: string;
  count: number;
  /** When the oldest webhook was written (sandbox time), or the oldest payout was created (real time). */
  since: number;
}

/** The largest count of webhooks that wait, and of pending payouts. */
export const MOST_WAITING_COUNTED = 1_000;
/** How many of a merchant's newest failed webhooks are counted. */
export const MOST_GIVEN_UP_COUNTED = 200;

export interface FiguresQuery {
  merchantId: string;
  kind: PaymentKind;
  from: number;
  /** The last day. */
  to: number;
}

/** Figures of payments by day, and what needs attention. */
export interface FigureStore {
  /** Counts a merchant's payments of at most 31 days. The result may be a minute old. */
  readFigures(query: FiguresQuery): Promise<Figure[]>;
  /** Lists receivers whose webhooks wait because the last attempt failed, of one merchant or of all. */
  listFailingReceivers(query: { merchantId?: string | undefined; limit: number }): Promise<Issue[]>;
  /**
   * Lists receivers with webhooks that were written `after` this time and have failed for good (no attempt is left, or
   * the response was 410), of the `limit` merchants whose webhooks failed last, or of one merchant. `after` is real time,
   * to which the offset of each merchant's clock is added.
   */
  listGivenUp(query: { merchantId?: string | undefined; after: number; limit: number }): Promise<Issue[]>;
  /**
   * Lists merchants with payouts that are pending, do not wait for approval, and were created `before` this real time, the
   * oldest first.
   */
  listLate(query: { merchantId?: string | undefined; before: number; limit: number }): Promise<Issue[]>;
}
