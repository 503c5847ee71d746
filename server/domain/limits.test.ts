import { expect, test } from "vitest";
import { feeFor, limitRefusal, type Limits } from "./limits.ts";

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

const customer = { phoneNumber: "2250700000009" };
const PAYOUT = { amount: 100, country: "CI", currency: "XOF", customer };
const foreign = { currency: "NGN" };

test.each<[Limits, used: number, permitted: object, refused: object, why: string]>([
  [{ perPayment: { XOF: 100 } }, 900, {}, { amount: 101 }, "per payment XOF:100"],
  [{ perPayment: { XOF: 100 } }, 0, {}, { amount: 1, ...foreign }, "per payment XOF:100"],
  [{ perDay: { XOF: 150 } }, 50, {}, { amount: 101 }, "per day (UTC) XOF:150, of which 50 XOF are used"],
  [{ perDay: { XOF: 150 } }, 0, {}, foreign, "per day (UTC) XOF:150, of which 0 NGN are used"],
  [{ countries: ["CI", "GH"] }, 0, { country: "GH" }, { country: "NG" }, "countries CI, GH"],
  [{ currencies: ["XOF"] }, 0, {}, foreign, "currencies XOF"],
  [{ recipients: ["2250700000009"] }, 0, {}, { customer: { phoneNumber: "2" } }, "only certain recipients"],
])(
  "%j of a key or merchant, of which %d are used, permit %j and refuse %j",
  (limits, used, permitted, refused, why) => {
    for (const [keyId, owner] of [
      ["key-1", "this API key"],
      ["", "your merchant account"],
    ] as const) {
      expect(limitRefusal({ ...PAYOUT, ...permitted }, { keyId, limits }, used)).toBeUndefined();
      const { code, message } = limitRefusal({ ...PAYOUT, ...refused }, { keyId, limits }, used)!;
      expect([code, message]).toEqual(["limit_exceeded", `A limit of ${owner} refuses this payout: ${why}.`]);
    }
  },
);
