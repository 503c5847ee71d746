import { expect, test } from "vitest";
import { feeFor } from "./limits.ts";

test.each([
  [1, 0, 0, 0],
  [1, 0, 25, 25],
  [49, 100, 0, 0],
  [50, 100, 0, 1],
  [150, 100, 0, 2],
  [149, 100, 10, 11],
  [3_333, 480, 0, 160],
  [4_999, 1, 0, 0],
  [5_000, 1, 0, 1],
  [14_999, 1, 0, 1],
  [15_000, 1, 0, 2],
  // Floating-point arithmetic would lose units here, because amount times basis points exceeds 2^53.
  [9_007_199_254_740_991, 100, 0, 90_071_992_547_410],
  [9_007_199_254_740_991, 9_999, 1_000_000_000, 9_006_299_534_815_517],
  [1_000_000_000_000_050, 1, 0, 100_000_000_000],
  [9_007_199_254_740_950, 101, 0, 90_972_712_472_884],
])("the fee for %d at %d basis points plus %d is %d (D14)", (amount, basisPoints, fixed, fee) => {
  expect(feeFor(amount, { basisPoints, fixed })).toBe(fee);
});
