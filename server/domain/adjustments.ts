import type { Actor, ActorName } from "./audit.ts";
import { amountIn, type Amounts } from "./limits.ts";
import type { Adjustment, LedgerStore } from "./ledger.ts";

/** A change of a balance that waits for a second person (D93). */
export interface Proposal extends Adjustment {
  merchantId: string;
  by: ActorName;
  /** Real time. */
  at: number;
}

export type Adjusted = "booked" | "proposed" | "not-covered";
export type AdjustmentDecided = "booked" | "rejected" | "own" | "not-covered" | "unknown";

export interface AdjustmentStore {
  /**
   * Stores a change that a second person must approve. Repeated with the same id, stores it once, and not at all if it
   * was booked.
   * @throws ServiceError `invalid_value` if the id belongs to another change
   */
  proposeAdjustment(merchantId: string, adjustment: Adjustment, actor: Actor): Promise<"proposed" | "booked">;
  /** Lists what waits for a second person, oldest first. */
  listProposals(): Promise<Proposal[]>;
  /**
   * Books a proposal, or rejects it. Whoever proposed it cannot approve it (`areTwoPeople`). If the balance does not cover what is taken,
   * the proposal stays. Also "booked" for a proposal that was booked before.
   */
  decideAdjustment(merchantId: string, id: string, actor: Actor, approves: boolean): Promise<AdjustmentDecided>;
}

export const needsSecond = (secondFrom: Amounts | undefined, { amount, currency }: Adjustment): boolean =>
  secondFrom !== undefined && Math.abs(amount) >= amountIn(secondFrom, currency);

/**
 * Adjusts a balance, or proposes the adjustment.
 * @param secondFrom the amounts from which on a second person must approve; in a currency without an amount, a second
 * person must always approve; absent if no approval is needed
 */
export async function adjust(
  { storage, secondFrom }: { storage: LedgerStore & AdjustmentStore; secondFrom: Amounts | undefined },
  merchantId: string,
  adjustment: Adjustment,
  actor: Actor,
): Promise<Adjusted> {
  if (needsSecond(secondFrom, adjustment)) return storage.proposeAdjustment(merchantId, adjustment, actor);
  return (await storage.adjustBalance(merchantId, adjustment, actor)) ? "booked" : "not-covered";
}
