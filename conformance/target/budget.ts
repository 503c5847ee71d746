/** Thrown instead of sending a payout that would exceed the budget. */
export class BudgetExceeded extends Error {}

/** The payouts that the run has made, and their limits. Amounts are in the lowest denomination. */
export type Budget = ReturnType<typeof createBudget>;

/** @param maxTotal the maximum sum of all payouts, in the lowest denomination */
export function createBudget(maxPayouts: number, maxTotal: number) {
  let payouts = 0;
  let total = 0;
  /** Returns true if what is left of the budget covers this number of payouts and this sum of their amounts. */
  const allows = (more: number, amount: number) => payouts + more <= maxPayouts && total + amount <= maxTotal;
  /** Charges a payout that the target made by mistake, even if it exceeds a limit. */
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
    charge,
    /** @throws BudgetExceeded if the budget does not cover what a check may still spend */
    require(cost: { payouts: number; amount: number }, spent: { payouts: number; total: number }) {
      const more = Math.max(0, cost.payouts - spent.payouts);
      const amount = Math.max(0, cost.amount - spent.total);
      if (allows(more, amount)) return;
      const left = Number.isFinite(maxTotal) ? `${maxTotal - total} in total` : "any total";
      throw new BudgetExceeded(
        `this check may make up to ${more} payouts with a total of ${amount}, but only ${maxPayouts - payouts} payouts ` +
          `of ${left} are left (--max-payouts, --max-total)`,
      );
    },
    /** Charges one payout before it is sent. @throws BudgetExceeded */
    take(amount: number) {
      if (!allows(1, amount)) {
        const used = `${payouts} of ${maxPayouts} payouts and ${total} of ${maxTotal} are used`;
        throw new BudgetExceeded(`a payout of ${amount} exceeds the budget: ${used}`);
      }
      charge(amount);
    },
    /** Refunds one payout that the target refused. */
    refund(amount: number) {
      payouts -= 1;
      total -= amount;
    },
  };
}
