// Checks amounts that are written with a decimal point or an exponent (D15, D25).
import type { Check, Context } from "../check.ts";
import { bothRefused, same } from "./expect.ts";
import { dataOf, disbursementBody, pay, withAmount } from "./requests.ts";

/** Whole numbers in other notations. */
const whole: [literal: string, value: number][] = [
  ["123.0", 123],
  ["12.5e1", 125],
  ["12500e-2", 125],
  ["0.00123e5", 123],
];
/** A little more than 100. Parsing rounds this number to 100. */
const inexact = "10000000000000000000001e-20";
/** Too large for a double. */
const infinite = "1e400";

const refuse = (context: Context, id: string, literal: string, status: number) =>
  bothRefused(context, id, status, `an amount of ${literal}`, (body) => withAmount(body, literal));

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
    run: (context) => refuse(context, "json-values.inexact-fraction", inexact, 400),
  },
  {
    name: "Amount too large for any number type is refused",
    ids: ["limits.amount-maximum"],
    effect: "must-be-rejected",
    run: (context) => refuse(context, "limits.amount-maximum", infinite, 422),
  },
];
