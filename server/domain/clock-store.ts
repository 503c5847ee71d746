import type { Actor } from "./audit.ts";
import type { EventType } from "./events.ts";
import type { Merchant } from "./merchants.ts";
import type { FinalStatus } from "./records.ts";
import type { ClockMove } from "./time.ts";

export interface ClockStore {
  /**
   * Gives at most `limit` due records their final status and writes their events. Resolves with the number of records.
   */
  settleDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Moves a merchant's clock forward by `by` milliseconds, or up to the sandbox time `to`; a `to` in the past moves
   * nothing. Concurrent moves by `by` add up. Resolves with undefined, and moves nothing, if the move would lead further
   * ahead of real time than `mostAheadMs`.
   * @param actor who moves it, for the audit trail; nothing is recorded without one
   */
  moveClock(merchantId: string, move: ClockMove, mostAheadMs: number, actor?: Actor): Promise<Moved | undefined>;
  /** True if a record or delivery of the merchant was due at this real time. Includes claimed deliveries. */
  hasDue(merchantId: string, until: number): Promise<boolean>;
  /** Lists the first `limit` records and deliveries of the merchant that are due at or before this sandbox time. */
  listUpcoming(merchantId: string, until: number, limit: number): Promise<Upcoming>;
  /**
   * Deletes the merchant's records, events and refusal counts, resets its clock to real time, switches chaos off and
   * stops a running replay. Also deletes previous webhook secrets, because an expired secret would become valid again
   * on the reset clock. Many rows are deleted in several transactions: meanwhile the merchant `isResetting`, and `prune`
   * continues a reset whose process has ended.
   * @param actor as for `moveClock`
   */
  reset(merchantId: string, actor?: Actor): Promise<void>;
}

/** A merchant whose clock was moved. */
export interface Moved {
  merchant: Merchant;
  /** When the clock was moved, in real time. */
  at: number;
}

/** What will happen to a merchant's records and deliveries, the earliest event first. */
export interface Upcoming {
  items: UpcomingItem[];
  /** The number of all items, at most `MOST_COUNTED`. */
  total: number;
}

/** Something that falls due. `at` is in the merchant's sandbox time; `reference` is the service's. */
export type UpcomingItem = { at: number; reference: string } & (
  | { kind: "disbursement" | "checkout"; merchantsReference: string; status: FinalStatus }
  | { kind: "delivery"; id: string; type: EventType; step: number }
);
