/** What the run may still spend. Amounts in the lowest denomination. */
export type Budget = {
  readonly payouts: number;
  readonly maxPayouts: number;
  readonly total: number;
  readonly maxTotal: number;
  /** True when so much is left. */
  allows(payouts: number, amount: number): boolean;
  /** Takes one payout before it is sent. Throws `BudgetExceeded` when it does not fit. */
  take(amount: number): void;
  /** Gives one payout back, which the target refused. */
  giveBack(amount: number): void;
  /** Counts a payout that nobody intended, whether it fits or not. */
  charge(amount: number): void;
};

/** Thrown instead of sending a payout that does not fit into the budget. */
export class BudgetExceeded extends Error {}

/** @param maxPayouts how many payouts; @param maxTotal the sum of their amounts, lowest denomination */
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
          `one more payout of ${amount} does not fit: ${payouts} of ${maxPayouts} payouts and ${total} of ${maxTotal} are used`,
        );
      }
      charge(amount);
    },
    giveBack(amount) {
      payouts -= 1;
      total -= amount;
    },
    charge,
  };
}
