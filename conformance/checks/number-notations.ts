// Checks amounts that are written with a decimal point or an exponent (D15, D25).
import type { Check, Context } from "../check.ts";
import { expectStatus, same } from "./expect.ts";
import { checkoutBody, dataOf, disbursementBody, pay, payInvalid, startInvalidCheckout } from "./requests.ts";

const headers = { "content-type": "application/json" };

/** Whole numbers in other notations. */
const whole: [literal: string, value: number][] = [
  ["123.0", 123],
  ["12.5e1", 125],
  ["12500e-2", 125],
  ["0.00123e5", 123],
];
/** A little more than 100; parsing rounds it to 100. */
const inexact = "10000000000000000000001e-20";
/** Too large for a double. */
const infinite = "1e400";

/** Returns a request whose amount is exactly this literal. */
const withAmount = (body: Record<string, unknown>, literal: string) => ({
  body: JSON.stringify({ ...body, amount: 0 }).replace('"amount":0', () => `"amount":${literal}`),
  headers,
});

async function expectRefused(context: Context, id: string, literal: string, status: number) {
  const when = `for an amount of ${literal}`;
  const payout = await payInvalid(context, undefined, withAmount(disbursementBody(context), literal));
  expectStatus(context, id, payout, status, when);
  const checkout = await startInvalidCheckout(context, undefined, withAmount(checkoutBody(context), literal));
  expectStatus(context, id, checkout, status, `${when} (checkout)`);
}

export const checks: Check[] = [
  {
    name: "Whole numbers with a decimal point or an exponent are read exactly",
    ids: ["json-values.exact-integer"],
    effect: "moves-money",
    payouts: whole.length,
    amount: whole.reduce((sum, [, value]) => sum + value, 0),
    async run(context) {
      for (const [literal, expected] of whole) {
        const response = await pay(context, undefined, withAmount(disbursementBody(context), literal));
        const actual = dataOf(response)["amount"];
        same(context, "json-values.exact-integer", { what: `amount for ${literal}:`, actual, expected }, response);
      }
    },
  },
  {
    name: "Fraction behind a negative exponent is refused with 400",
    ids: ["json-values.inexact-fraction"],
    effect: "must-be-rejected",
    run: (context) => expectRefused(context, "json-values.inexact-fraction", inexact, 400),
  },
  {
    name: "Amount too large for any number type is refused",
    ids: ["limits.amount-maximum"],
    effect: "must-be-rejected",
    run: (context) => expectRefused(context, "limits.amount-maximum", infinite, 422),
  },
];
