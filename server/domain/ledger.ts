import type { Actor } from "./audit.ts";
import { ServiceError } from "./errors.ts";
import type { PaymentRecord } from "./records.ts";

/** Whether a payout needs a balance that covers it (D87). The books are kept in both cases. */
export type Balances = "enforced" | "tracked";

/** What a merchant has in one currency. Above 2^53 the numbers are rounded. */
export interface Balance {
  merchantId: string;
  currency: string;
  /** What the merchant can pay out. Negative if payouts are only tracked and nothing was paid in. */
  available: number;
  /** The amounts and fees of pending payouts. */
  reserved: number;
}

/** Money that an operator adds to a balance, or takes from it. */
export interface Adjustment {
  /** A unique id. */
  id: string;
  currency: string;
  /** Negative to take money from the balance. */
  amount: number;
  reason: string;
}

export interface LedgerStore {
  /** Lists balances by merchant and currency. @param merchantId if present, only this merchant's */
  listBalances(merchantId?: string): Promise<Balance[]>;
  /** Adjusts a balance. Resolves with false, and changes nothing, if the balance does not cover what is taken. */
  adjustBalance(merchantId: string, adjustment: Adjustment, actor: Actor): Promise<boolean>;
  /**
   * Books what the entries lack compared with the payouts and checkouts: processes of a version without books, which run
   * beside this one during an upgrade, write no entries. Resolves with the number of corrections.
   */
  correctBooks(reason: string, actor: Actor): Promise<number>;
}

export const insufficientFunds = ({
  amount,
  fee,
  currency,
}: Pick<PaymentRecord, "amount" | "fee" | "currency">): ServiceError =>
  new ServiceError(
    "insufficient_funds",
    `Your available balance in ${currency} does not cover the amount ${amount} and its fee ${fee}. Nothing was recorded.`,
  );
