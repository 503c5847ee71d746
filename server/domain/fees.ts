/** A fee rule: basis points of the amount plus a fixed part in the lowest denomination (D14). */
export interface FeeRule {
  basisPoints: number;
  fixed: number;
}

/** The fee charged on top of an amount, in the lowest denomination, rounded half up (D14). */
export function feeFor(amount: number, { basisPoints, fixed }: FeeRule): number {
  // BigInt, because amount times basis points can exceed 2^53.
  const proportional = (BigInt(amount) * BigInt(basisPoints) + 5_000n) / 10_000n;
  return Number(proportional) + fixed;
}
