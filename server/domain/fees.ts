/** A fee in basis points of the amount plus a fixed part in the lowest denomination (D14). */
export interface FeeRule {
  basisPoints: number;
  fixed: number;
}

/** The fee for an amount, rounded half up to a whole number of the lowest denomination; it goes on top (D14). */
export function feeFor(amount: number, { basisPoints, fixed }: FeeRule): number {
  // Whole-number arithmetic: amount times basis points can pass 2^53.
  const proportional = (BigInt(amount) * BigInt(basisPoints) + 5_000n) / 10_000n;
  return Number(proportional) + fixed;
}
