// Checks unknown fields, and JSON values that parsers interpret differently (D21, D24, D25).
import { describeResponse, type Check, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import {
  checkoutBody,
  dataOf,
  disbursementBody,
  paid,
  pay,
  payInvalid,
  startCheckout,
  startInvalidCheckout,
  usualAmount,
  verified,
} from "./requests.ts";

const headers = { "content-type": "application/json" };

/** Returns the body as JSON text in which the amount is exactly this literal. */
const withAmount = (body: Record<string, unknown>, literal: string) =>
  JSON.stringify({ ...body, amount: 0 }).replace('"amount":0', () => `"amount":${literal}`);

/** Returns the body as JSON text in which one key occurs a second time, with this value. */
const withSecond = (body: Record<string, unknown>, key: string, value: unknown) =>
  `${JSON.stringify(body).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`;

const judge = (context: Context, id: string, status: number, what: string, response: TargetResponse) =>
  context.judge(id, response.status === status, `${status} for ${what}`, describeResponse(response), [response]);

/** Sends one JSON text as a disbursement and another as a checkout, and judges that the target returns 400 for both. */
async function refuseBoth(context: Context, id: string, what: string, disbursement: string, checkout: string) {
  judge(
    context,
    id,
    400,
    `a disbursement with ${what}`,
    await payInvalid(context, undefined, { body: disbursement, headers }),
  );
  const response = await startInvalidCheckout(context, undefined, { body: checkout, headers });
  judge(context, id, 400, `a checkout with ${what}`, response);
}

export const jsonValueChecks: Check[] = [
  {
    name: "Unknown field is ignored",
    ids: ["json-values.unknown-ignored"],
    effect: "moves-money",
    payouts: 1,
    amount: usualAmount,
    async run(context) {
      const { reference } = await paid(context, { certifyExtra: "x" });
      const { response, data } = await verified(context, reference);
      const kept = "certifyExtra" in data;
      const expected = "a record without the unknown field";
      context.judge("json-values.unknown-ignored", !kept, expected, kept ? "a record with it" : "as expected", [
        response,
      ]);
      const checkout = await startCheckout(context, checkoutBody({ certifyExtra: { nested: [1] } }));
      judge(context, "json-values.unknown-ignored", 200, "a checkout with an unknown field", checkout);
    },
  },
  {
    name: "Half of a surrogate pair in a reference is refused with 422",
    ids: ["json-values.lone-surrogate"],
    effect: "must-be-rejected",
    async run(context) {
      for (const half of ["\ud83d", "\udcb8"]) {
        const response = await payInvalid(context, disbursementBody(context, { reference: context.fresh() + half }));
        judge(context, "json-values.lone-surrogate", 422, `a reference with ${JSON.stringify(half)}`, response);
      }
    },
  },
  {
    name: "Key with two values is refused with 400",
    ids: ["json-values.duplicate-key"],
    effect: "must-be-rejected",
    async run(context) {
      for (const key of ["amount", "country"] as const) {
        const [disbursement, checkout] = [disbursementBody(context), checkoutBody()].map((body) => {
          const other = { amount: Number(body["amount"]) + 1, country: body["country"] === "KE" ? "GH" : "KE" };
          return withSecond(body, key, other[key]);
        }) as [string, string];
        await refuseBoth(context, "json-values.duplicate-key", `two values for ${key}`, disbursement, checkout);
      }
    },
  },
  {
    name: "Fraction that rounding would hide is refused with 400",
    ids: ["json-values.inexact-fraction"],
    effect: "must-be-rejected",
    async run(context) {
      const literal = "100.00000000000000000001";
      const disbursement = withAmount(disbursementBody(context), literal);
      const checkout = withAmount(checkoutBody(), literal);
      await refuseBoth(context, "json-values.inexact-fraction", `an amount of ${literal}`, disbursement, checkout);
    },
  },
  {
    name: "Whole number in another notation is accepted",
    ids: ["json-values.exact-integer"],
    effect: "moves-money",
    payouts: 3,
    amount: 3 * usualAmount,
    async run(context) {
      for (const literal of ["100.0", "1e2", "1.00E+2"]) {
        const body = withAmount(disbursementBody(context), literal);
        const response = await pay(context, undefined, { body, headers });
        const ok = response.status === 200 && dataOf(response)["amount"] === 100;
        const expected = `200 with amount 100 for ${literal}`;
        context.judge("json-values.exact-integer", ok, expected, describeResponse(response), [response]);
      }
    },
  },
];
