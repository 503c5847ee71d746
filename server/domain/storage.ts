import type { Mode } from "./keys.ts";
import { needsSecondPerson, type LedgerStore } from "./ledger.ts";
import type { Amounts } from "./limits.ts";
import type { RecordStore } from "./payments.ts";
import type { AuditLog, Actor } from "./audit.ts";
import type { DeliveryQueue, EventLog } from "./deliveries.ts";
import type { FigureStore } from "./figures.ts";
import type { HandoverStore } from "./handovers.ts";
import type { MerchantStore, Merchant } from "./merchants.ts";
import type { RequestLog } from "./request-log.ts";
import type { SignInStore } from "./sign-in.ts";
import type { ClockMove } from "./time.ts";

/**
 * The storage that the domain needs. Each method takes effect in one transaction and is durable when its promise
 * resolves. A storage is opened with a clock and reads the time itself, inside the transaction, so that a merchant's
 * time never goes backwards.
 */
export interface Storage
  extends
    MerchantStore,
    RecordStore,
    ClockStore,
    DeliveryQueue,
    HandoverStore,
    LedgerStore,
    EventLog,
    AuditLog,
    SignInStore,
    RequestLog,
    FigureStore,
    Housekeeping {
  /** Counts the waiting work of all merchants. Takes about 15 ms at most, however long the queues are. */
  readBacklog(): Promise<Backlog>;
  /** Reads whether the database belongs to a sandbox or to a live service; undefined if nobody has decided it (D80). */
  readMode(): Promise<Mode | undefined>;
  /** Resolves if the storage can commit. Otherwise rejects with the reason. */
  ping(): Promise<void>;
  /** Refuses further transactions, finishes those in progress, then closes the storage. */
  close(): Promise<void>;
}

/** The settings that say when a second person must agree. */
export interface TwoPeopleRules {
  balanceApprovalFrom?: Amounts | undefined;
  oneOperatorDecides: boolean;
}

/** A server's storage as commands get it: the server's settings decide when a second person must agree, not a command's. */
export const ruled = (storage: Storage, rules: TwoPeopleRules): Storage => ({
  ...storage,
  adjustBalance: (merchantId, change, actor) =>
    storage.adjustBalance(merchantId, change, actor, needsSecondPerson(rules.balanceApprovalFrom, change)),
  decideByHand: (reference, decision, actor) =>
    storage.decideByHand(reference, decision, actor, !rules.oneOperatorDecides),
});

/** The counts end at this number, so that a long queue takes no longer to count. */
export const MOST_COUNTED = 10_000;

/**
 * The waiting work. May include rows that resets have deleted and no worker has removed yet. What is being attempted or
 * waits for its next attempt is waiting. Times are real time, the earliest of what was counted; absent if nothing is due.
 */
export interface Backlog {
  dueDeliveries: number;
  waitingDeliveries: number;
  oldestDeliveryDueAt?: number;
  dueSettlements: number;
  oldestSettlementDueAt?: number;
}

export interface ClockStore {
  /** Gives at most `limit` due records their final status and writes their events. Resolves with their number. */
  settleDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Moves a merchant's clock (`movedTime`). Concurrent moves add up. Resolves with the real time of the move.
   * @throws ServiceError as `movedTime` does; nothing has changed
   */
  moveClock(merchantId: string, move: ClockMove, actor: Actor): Promise<{ merchant: Merchant; at: number }>;
  /** True if a record or delivery of the merchant was due at this real time. Includes claimed deliveries. */
  hasDue(merchantId: string, until: number): Promise<boolean>;
  /**
   * Deletes the merchant's records, events and refusal counts, resets its clock to real time and switches chaos
   * off. Also deletes previous webhook secrets, because an expired secret would become valid again
   * on the reset clock. Many rows are deleted in several transactions: meanwhile the merchant `isResetting`, and `prune`
   * continues a reset whose process has ended.
   */
  reset(merchantId: string, actor: Actor): Promise<void>;
}

export interface Housekeeping {
  /**
   * Deletes up to about `limit` rows that are too old for the log of requests, and finishes resets whose process has
   * ended. Resolves with the number of deleted rows.
   */
  prune(limit: number): Promise<number>;
  /**
   * Looks at the next `limit` events of a merchant, and deletes the events that are no longer needed, with their
   * attempts. These are events that were created before `before`, and that either were delivered, with no attempt since
   * then, or have no address. Keeps records, and events whose delivery is pending, has failed or is being attempted.
   * Resolves with where the next step begins; with undefined after the last step.
   * @param query `after`: where the previous step ended; 0 at first
   */
  pruneEvents(query: RetentionQuery & { after: number }): Promise<number | undefined>;
  /**
   * Erases the phone numbers of about `limit` records of a merchant that became final before `before`, in the records, in
   * their webhooks and in what rails said; forgets what receivers answered. References, amounts, books and the ids of
   * customers stay. Resolves with true if there may be more such records.
   */
  erasePhones(query: RetentionQuery): Promise<boolean>;
}

/** A step of deleting what is too old. */
export interface RetentionQuery {
  merchantId: string;
  /** Real time. */
  before: number;
  limit: number;
}
