// Checks unknown fields, and JSON values that parsers interpret differently (D53, D15).
import type { Check, Context } from "../../check.ts";
import { bothRefused, expectData, expectNoFaults, expectStatus } from "../../steps/expect.ts";
import {
  asJson,
  checkoutBody,
  disbursementBody,
  paid,
  pay,
  payInvalid,
  pays,
  startCheckout,
  verified,
  withAmount,
} from "../../steps/requests.ts";

/** Unknown fields with values of every JSON type. The rules for amounts do not apply to their numbers. */
const unknownFields = ({ target: { merchant } }: Context) => ({
  [`${merchant.name}Extra`]: "x",
  [`${merchant.name}Whole`]: -7,
  [`${merchant.name}Fraction`]: 0.5,
  [`${merchant.name}Small`]: 1.5e-7,
  [`${merchant.name}Large`]: 2.5e21,
  [`${merchant.name}True`]: true,
  [`${merchant.name}Null`]: null,
  [`${merchant.name}List`]: [1, 0.25, "x"],
  [`${merchant.name}Object`]: { nested: { ratio: -1.75 } },
});

/** Whole numbers with a decimal point or an exponent. */
const notations = ["100.0", "1e2", "1.00E+2", "12.5e1", "12500e-2", "0.00123e5"];

/** Returns the body as JSON text in which one key occurs a second time, with this value. */
const withSecond = (body: Record<string, unknown>, key: string, value: unknown) =>
  `${JSON.stringify(body).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`;

export const checks: Check[] = [
  {
    name: "Unknown field is ignored",
    ids: ["json-values.unknown-ignored"],
    ...pays(1),
    async run(context) {
      const unknown = unknownFields(context);
      const { reference } = await paid(context, unknown);
      const { response, data } = await verified(context, reference);
      const kept = Object.keys(unknown).filter((name) => name in data);
      const faults = kept.map((name) => `a record with ${name}`);
      expectNoFaults(context, "json-values.unknown-ignored", "a record without the unknown fields", faults, response);
      const checkout = await startCheckout(context, checkoutBody(context, unknown));
      expectStatus(context, "json-values.unknown-ignored", checkout, 200, "for a checkout with unknown fields");
    },
  },
  {
    name: "Half of a surrogate pair in a reference is refused with 422",
    ids: ["json-values.lone-surrogate"],
    effect: "must-be-rejected",
    async run(context) {
      for (const half of ["\ud83d", "\udcb8"]) {
        const response = await payInvalid(context, disbursementBody(context, { reference: context.fresh() + half }));
        const when = `for a reference with ${JSON.stringify(half)}`;
        expectStatus(context, "json-values.lone-surrogate", response, 422, when);
      }
    },
  },
  {
    name: "Key with two values is refused with 400",
    ids: ["json-values.duplicate-key"],
    effect: "must-be-rejected",
    async run(context) {
      for (const key of ["amount", "country"] as const) {
        await bothRefused(context, "json-values.duplicate-key", 400, `two values for ${key}`, (body) => {
          const other = { amount: Number(body["amount"]) + 1, country: body["country"] === "KE" ? "GH" : "KE" };
          return asJson(withSecond(body, key, other[key]));
        });
      }
    },
  },
  {
    name: "Fraction that rounding would hide is refused with 400",
    ids: ["json-values.inexact-fraction"],
    effect: "must-be-rejected",
    async run(context) {
      // Parsing rounds these numbers to 100.
      for (const literal of ["100.00000000000000000001", "10000000000000000000001e-20"]) {
        const id = "json-values.inexact-fraction";
        await bothRefused(context, id, 400, `an amount of ${literal}`, (body) => withAmount(body, literal));
      }
    },
  },
  {
    name: "Whole number in another notation is accepted",
    ids: ["json-values.exact-integer"],
    ...pays(notations.length),
    async run(context) {
      for (const literal of notations) {
        const response = await pay(context, undefined, withAmount(disbursementBody(context), literal));
        expectData(context, "json-values.exact-integer", response, { amount: Number(literal) }, `for ${literal}`);
      }
    },
  },
];
