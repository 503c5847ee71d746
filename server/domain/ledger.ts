import type { components } from "../../generated/openapi.ts";
import type { Actor, ActorName } from "./audit.ts";
import type { Clock } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import type { Ids } from "./ids.ts";
import type { Merchant } from "./merchants.ts";
import type { Page } from "./pages.ts";
import type { PaymentRecord } from "./records.ts";
import { amountIn, type Amounts } from "./limits.ts";

type Schemas = components["schemas"];

/** Whether a payout needs a balance that covers it (D87). The books are kept in both cases. */
export type Balances = "enforced" | "tracked";

/** What a merchant has in one currency. Above 2^53 the numbers are rounded. */
export type Balance = Schemas["Balance"] & { merchantId: string };

/** A change of a balance. Above 2^53 the numbers are rounded. */
export interface StatementEntry extends Omit<Schemas["StatementEntry"], "createdAt"> {
  /** In sandbox time. */
  createdAt: number;
}

/** Money that an operator adds to a balance, or takes from it. */
export interface Adjustment {
  id: string;
  currency: string;
  /** Negative to take money from the balance. */
  amount: number;
  reason: string;
}

export interface LedgerStore {
  /** Lists balances by merchant and currency. @param merchantId if present, only this merchant's */
  listBalances(merchantId?: string): Promise<Balance[]>;
  /**
   * Adjusts a balance. Repeated with the same id, books once. Resolves with false, and changes nothing, if the balance
   * does not cover what is taken.
   * @throws ServiceError `invalid_value` if the id belongs to another change
   */
  adjustBalance(merchantId: string, adjustment: Adjustment, actor: Actor): Promise<boolean>;
  /** Sets a balance of a sandbox (D87). @param id the reference of the entry */
  setBalance(merchantId: string, id: string, setting: Schemas["BalanceSetting"], actor: Actor): Promise<void>;
  /**
   * Reads a page of a statement, newest first. `from` and `to` are sandbox time; `to` does not belong to the period.
   * @throws InvalidCursorError
   */
  listStatement(query: {
    merchantId: string;
    from?: number;
    to?: number;
    limit: number;
    cursor?: string;
  }): Promise<Page<StatementEntry>>;
}

export const insufficientFunds = ({
  amount,
  fee,
  currency,
}: Pick<PaymentRecord, "amount" | "fee" | "currency">): ServiceError =>
  new ServiceError(
    "insufficient_funds",
    `Your available balance in ${currency} does not cover the amount ${amount} and its fee ${fee}.`,
  );

export type MerchantBalances = ReturnType<typeof createBalances>;

/** What merchants may ask of their balances (D87). */
export function createBalances(context: { storage: LedgerStore; clock: Clock; ids: Ids; balances: Balances }) {
  const { storage, clock, ids, balances } = context;
  const list = async ({ id }: Merchant): Promise<Balance[]> =>
    (await storage.listBalances(id)).map((balance) => ({
      ...balance,
      enforced: balance.enforced || balances === "enforced",
    }));
  return {
    list,
    /** Sets a balance of the merchant's sandbox. Resolves with all its balances. */
    async set(merchant: Merchant, setting: Schemas["BalanceSetting"], actor: Actor): Promise<Balance[]> {
      await storage.setBalance(merchant.id, ids.record(clock.now()), setting, actor);
      return list(merchant);
    },
  };
}

/** A change of a balance that waits for a second person (D93). */
export interface Proposal extends Adjustment {
  merchantId: string;
  by: ActorName;
  /** Real time. */
  at: number;
}

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
  decideAdjustment(
    merchantId: string,
    id: string,
    actor: Actor,
    approves: boolean,
  ): Promise<"booked" | "rejected" | "own" | "not-covered" | "unknown">;
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
): Promise<"booked" | "proposed" | "not-covered"> {
  if (needsSecond(secondFrom, adjustment)) return storage.proposeAdjustment(merchantId, adjustment, actor);
  return (await storage.adjustBalance(merchantId, adjustment, actor)) ? "booked" : "not-covered";
}
