/** What the run has spent and may still spend. Amounts are in the lowest denomination. */
export type Budget = {
  readonly payouts: number;
  readonly maxPayouts: number;
  readonly total: number;
  readonly maxTotal: number;
  /** True if this much is left. */
  allows(payouts: number, amount: number): boolean;
  /** Charges one payout before it is sent. @throws BudgetExceeded if it does not fit */
  take(amount: number): void;
  /** Refunds one payout that the target refused. */
  refund(amount: number): void;
  /** Charges an unintended payout, even beyond the limit. */
  charge(amount: number): void;
};

/** A payout that was not sent because it does not fit into the budget. */
export class BudgetExceeded extends Error {}

/** @param maxTotal maximum sum of all payouts, in the lowest denomination */
export function createBudget(maxPayouts: number, maxTotal: number): Budget {
  let payouts = 0;
  let total = 0;
  const allows = (more: number, amount: number) => payouts + more <= maxPayouts && total + amount <= maxTotal;
  const charge = (amount: number) => {
    payouts += 1;
    total += amount;
  };
  return {
    get payouts() {
      return payouts;
    },
    get total() {
      return total;
    },
    maxPayouts,
    maxTotal,
    allows,
    take(amount) {
      if (!allows(1, amount)) {
        throw new BudgetExceeded(
          `a payout of ${amount} exceeds the budget: ${payouts} of ${maxPayouts} payouts and ${total} of ${maxTotal} are used`,
        );
      }
      charge(amount);
    },
    refund(amount) {
      payouts -= 1;
      total -= amount;
    },
    charge,
  };
}
