import type { components } from "../../generated/openapi.ts";
import type { Actor, ActorName } from "./audit.ts";
import { ServiceError } from "./errors.ts";
import type { Page } from "./pages.ts";
import type { PaymentRecord } from "./records.ts";
import { amountIn, type Amounts } from "./limits.ts";

type Schemas = components["schemas"];

/** Whether a payout needs a balance that covers it (D87). The books are kept in both cases. */
export type Balances = "enforced" | "tracked";

/** What a merchant has in one currency. Above 2^53 the numbers are rounded. */
export type Balance = Schemas["Balance"] & { merchantId: string };

/** A change of a balance. Above 2^53 the numbers are rounded. */
export type StatementEntry = Omit<Schemas["StatementEntry"], "createdAt"> & { createdAt: number };

/** Money that an operator adds to a balance, or takes from it with a negative amount. */
export interface Adjustment {
  id: string;
  currency: string;
  amount: number;
  reason: string;
}

/** A change of a balance that waits for a second person (D93). */
export interface Proposal extends Adjustment {
  merchantId: string;
  by: ActorName;
  /** Real time. */
  at: number;
}

/** `from` and `to` are sandbox time; `to` does not belong to the period. */
type StatementQuery = { merchantId: string; from?: number; to?: number; limit: number; cursor?: string };

export interface LedgerStore {
  /** Lists balances by merchant and currency. @param merchantId if present, only this merchant's */
  listBalances(merchantId?: string): Promise<Balance[]>;
  /** Sets a balance of a sandbox (D87). @param id the reference of the entry */
  setBalance(merchantId: string, id: string, setting: Schemas["BalanceSetting"], actor: Actor): Promise<void>;
  /** Reads a page of a statement, newest first. @throws InvalidCursorError */
  listStatement(query: StatementQuery): Promise<Page<StatementEntry>>;
  /**
   * Adjusts a balance, unless it does not cover what is taken, or stores the adjustment as a proposal if a second person
   * must approve it. Repeated with the same id, takes effect once.
   * @throws ServiceError `invalid_value` if the id belongs to another change
   */
  adjustBalance(
    merchantId: string,
    adjustment: Adjustment,
    actor: Actor,
    needsSecondPerson?: boolean,
  ): Promise<"booked" | "proposed" | "not-covered">;
  /** Lists what waits for a second person, oldest first. */
  listProposals(): Promise<Proposal[]>;
  /**
   * Books a proposal, or rejects it. Whoever proposed it cannot approve it (`areTwoPeople`). If the balance does not cover
   * what is taken, the proposal stays. Also "booked" for a proposal that was booked before.
   */
  decideAdjustment(
    merchantId: string,
    id: string,
    actor: Actor,
    approves: boolean,
  ): Promise<"booked" | "rejected" | "own" | "not-covered" | "unknown">;
}

export function insufficientFunds({ amount, fee, currency }: PaymentRecord): ServiceError {
  const message = `Your available balance in ${currency} does not cover the amount ${amount} and its fee ${fee}.`;
  return new ServiceError("insufficient_funds", message);
}

/** Reads balances. All are `enforced` if the setting says so, and otherwise those that are enforced themselves (D87). */
export const readBalances = async (
  { storage, config }: { storage: Pick<LedgerStore, "listBalances">; config: { balances: Balances } },
  merchantId?: string,
): Promise<Balance[]> =>
  (await storage.listBalances(merchantId)).map((balance) => ({
    ...balance,
    enforced: balance.enforced || config.balances === "enforced",
  }));

/**
 * True if a second person must approve an adjustment: from these amounts on, and always in a currency without an amount.
 * Without `approvalFrom`, no adjustment needs approval.
 */
export const needsSecondPerson = (approvalFrom: Amounts | undefined, { amount, currency }: Adjustment): boolean =>
  approvalFrom !== undefined && Math.abs(amount) >= amountIn(approvalFrom, currency);
