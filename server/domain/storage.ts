import type { AdjustmentStore } from "./adjustments.ts";
import type { ApprovalStore } from "./approvals.ts";
import type { AuditLog } from "./audit.ts";
import type { Checkout, CheckoutStore } from "./checkouts.ts";
import type { ClockStore } from "./clock-store.ts";
import type { DeliveryQueue, EventLog } from "./deliveries.ts";
import type { Disbursement, DisbursementStore } from "./disbursements.ts";
import type { FigureStore } from "./figures.ts";
import type { HandoverStore } from "./handovers.ts";
import type { Housekeeping } from "./housekeeping.ts";
import type { LedgerStore } from "./ledger.ts";
import type { MerchantStore } from "./merchants.ts";
import type { ReplayStore } from "./replays.ts";
import type { RequestLog } from "./request-log.ts";
import type { SignInStore } from "./sign-in.ts";

/**
 * The storage that the domain needs. Each method takes effect in one transaction and is durable when its promise
 * resolves. A storage is opened with a clock and reads the time itself, inside the transaction, so that a merchant's
 * time never goes backwards.
 */
export interface Storage
  extends
    MerchantStore,
    DisbursementStore,
    CheckoutStore,
    PaymentSearch,
    ClockStore,
    DeliveryQueue,
    HandoverStore,
    ApprovalStore,
    LedgerStore,
    AdjustmentStore,
    EventLog,
    ReplayStore,
    AuditLog,
    SignInStore,
    RequestLog,
    FigureStore,
    Housekeeping {
  /** Counts the waiting work of all merchants. Takes about 15 ms at most, however long the queues are. */
  readBacklog(): Promise<Backlog>;
  /** Resolves if the storage can commit. Otherwise rejects with the reason. */
  ping(): Promise<void>;
  /** Finishes the transactions in progress, then closes the storage. */
  close(): Promise<void>;
}

/** The counts end at this number, so that a long queue takes no longer to count. */
export const MOST_COUNTED = 10_000;
/** The number of receivers among whose deliveries the oldest due delivery is searched. */
export const MOST_LANES = 1_000;

/** The waiting work. May include rows that resets have deleted and no worker has removed yet. Times are real time. */
export interface Backlog {
  /** Deliveries that are due. */
  dueDeliveries: number;
  /** Deliveries that are being attempted or wait for their next attempt. */
  waitingDeliveries: number;
  /** When the oldest due delivery fell due; absent if no delivery is due. */
  oldestDeliveryDueAt?: number;
  /** Payouts and checkouts whose final status is due. */
  dueSettlements: number;
  /** When the oldest due record fell due; absent if no record is due. */
  oldestSettlementDueAt?: number;
}

export interface PaymentSearchQuery {
  /** The service's or a merchant's reference. */
  text: string;
  /** A recipient's or payer's number. */
  phoneNumber?: string | undefined;
  /** The largest number of payouts, and the largest number of checkouts. */
  limit: number;
}

export interface PaymentSearch {
  /**
   * Finds the payments of all merchants with a reference or a phone number, newest first. If thousands match, it may
   * miss newer payments.
   */
  searchPayments(query: PaymentSearchQuery): Promise<(Disbursement | Checkout)[]>;
}
